/** Entry point of the dashboard: passes each section of the server's figures to its panel. */

import { byId } from './dom.js';
import { control } from './dashboard_controls.js';
import { showDisputed } from './dashboard_disputed.js';
import {
  showWarning, showAgreement, showArms, showCost, showUncertainty, showEvents, showItems, showProgress, showSavings, showState, showConsistency, showTimes, withSavings,
} from './dashboard_panels.js';
import { showPeople } from './dashboard_people.js';
import { follow } from './dashboard_stream.js';

const LIVE = {
  live: 'Live: the figures update automatically.',
  asking: 'The live stream is interrupted. The page asks for new figures every few seconds.',
  'cut off': 'No connection to the server. The figures may be out of date.',
};

/** @type {{study: Record<string, any>, sections: Record<string, any>}} */
const { study, sections: known } = JSON.parse(byId('config').textContent ?? '');

/** Updates the panels of the sections that arrived.
 * @param {Record<string, any>} parts */
function show(parts) {
  Object.assign(known, parts);
  if (parts.trouble !== undefined) {
    showWarning('trouble', parts.trouble ? 'The store cannot be read at the moment. The figures may be out of date.' : '');
  }
  const { items, times, people, opinions, cost, happenings, adaptive } = known;
  // On a busy machine the page loads before its sections.
  const progress = known.progress && withSavings(known.progress, adaptive);
  if (progress && (parts.progress || parts.adaptive)) {
    showProgress(progress, study);
    showState(progress);
    showCost(cost);
  }
  if (progress && items && (parts.items || parts.progress || parts.adaptive)) showItems(items, progress, study);
  if (parts.cost !== undefined) showCost(cost);
  if (parts.times) showTimes(times);
  if (parts.opinions) {
    showAgreement(opinions);
    showUncertainty(opinions);
    showConsistency(opinions, study);
    showDisputed(opinions, study.classes);
  }
  if (parts.people) showPeople(people, study);
  if (parts.adaptive) showSavings(adaptive, study);
  if (parts.arms) showArms(parts.arms);
  if (parts.happenings) showEvents(happenings);
}

if (!known.opinions) known.opinions = { state: 'none' };
show({ ...known });
control(study);
follow(show, (how) => {
  byId('live').textContent = LIVE[how];
  byId('live').dataset.how = how;
});
// After logout, the back button must not show the page from the browser's cache.
addEventListener('pageshow', (event) => event.persisted && location.reload());
