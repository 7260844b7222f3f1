/** Random keys, and a hash of the participant's link. They work on plain http too: `crypto.randomUUID` and
 * `crypto.subtle` exist only on https and localhost, but studies also run on plain http in a lab. */

/** A random UUID (version 4).
 * @returns {string} */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** A hash of the link (FNV-1a, 64 bits, as hex), which separates the data of two participants in one browser.
 * @param {string} base the path of the participant's link
 * @returns {string} */
export function scopeOf(base) {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(base)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash.toString(16).padStart(16, '0');
}
