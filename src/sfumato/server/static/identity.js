/** Identity: unguessable keys, and a short name for this person's link, wherever the page is served from.
 * `crypto.randomUUID` and `crypto.subtle` exist only on https and localhost; studies also run on plain http in a lab. */

/** A random UUID (version 4).
 * @returns {string} */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** A hash of the link (FNV-1a, 64 bits, as hex), so that what two people on one machine keep here stays apart.
 * @param {string} base the path of the person's link
 * @returns {string} */
export function scopeOf(base) {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(base)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash.toString(16).padStart(16, '0');
}
