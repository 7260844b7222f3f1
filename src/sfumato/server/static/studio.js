/** The researcher's page: shows what the server tells, as it tells it. */

import { byId } from './dom.js';
import { control } from './studio_controls.js';
import { showDisputed } from './studio_disputed.js';
import {
  alarm, showAgreement, showArms, showCost, showDoubt, showHappened, showItems, showProgress, showSaved, showState, showSteady, showTimes, withSavings,
} from './studio_panels.js';
import { showPeople } from './studio_people.js';
import { follow } from './studio_stream.js';

const LIVE = {
  live: 'Live: the figures follow by themselves.',
  asking: 'The stream is broken; asking every few seconds instead.',
  'cut off': 'No word from the server. What you see may be old.',
};

/** @type {{study: Record<string, any>, sections: Record<string, any>}} */
const { study, sections: known } = JSON.parse(byId('config').textContent ?? '');

/** Shows the parts that came, with what is known of the others.
 * @param {Record<string, any>} parts */
function show(parts) {
  Object.assign(known, parts);
  if (parts.trouble !== undefined) {
    alarm('trouble', parts.trouble ? 'The store cannot be read at the moment. What you see may be old.' : '');
  }
  const { progress, items, times, people, opinions, cost, happenings, adaptive } = known;
  // On a busy machine the page comes first, and its parts one after the other.
  const far = progress && withSavings(progress, adaptive);
  if (far && (parts.progress || parts.adaptive)) {
    showProgress(far, study);
    showState(far);
    showCost(cost);
  }
  if (far && items && (parts.items || parts.progress || parts.adaptive)) showItems(items, far, study);
  if (parts.cost !== undefined) showCost(cost);
  if (parts.times) showTimes(times);
  if (parts.opinions) {
    showAgreement(opinions);
    showDoubt(opinions);
    showSteady(opinions, study);
    showDisputed(opinions, study.classes);
  }
  if (parts.people) showPeople(people, study);
  if (parts.adaptive) showSaved(adaptive, study);
  if (parts.arms) showArms(parts.arms);
  if (parts.happenings) showHappened(happenings);
}

if (!known.opinions) known.opinions = { state: 'none' };
show({ ...known });
control(study);
follow(show, (how) => {
  byId('live').textContent = LIVE[how];
  byId('live').dataset.how = how;
});
// Out of a browser's memory comes nothing: who has logged out and goes back sees the door.
addEventListener('pageshow', (event) => event.persisted && location.reload());
