// Plays one episode in a page of MiniWoB++: starts it with its seed, keeps its outcome in a cookie, covers its end.
//
// Loaded at the end of the body: after the page's own scripts, which may replace parts of `core`, and before its onload,
// which calls core.startEpisode. A session plays one task, and its first end stands: reloading never gives a second try.
(() => {
  'use strict';
  const given = document.currentScript.dataset;
  const task = given.task, seed = Number(given.seed), mode = given.mode;
  const shown = (name) => name in given;
  const COOKIE = 'webgym_state';

  const read = () => {
    const found = document.cookie.split('; ').find((cookie) => cookie.startsWith(COOKIE + '='));
    return found ? JSON.parse(decodeURIComponent(found.slice(COOKIE.length + 1))) : null;
  };
  const write = (record) => {
    document.cookie = `${COOKIE}=${encodeURIComponent(JSON.stringify(record))}; path=/; SameSite=Lax`;
  };

  const before = read();
  const elsewhere = before !== null && (before.task !== task || before.seed !== seed || before.mode !== mode);
  let record = before === null || elsewhere ? { task, seed, mode, starts: 0, utterance: '', done: false } : before;
  let ended = record.done;

  if (shown('timer')) document.documentElement.dataset.timer = '';
  else core.countdownTimer = () => {}; // a page that counts seconds is never at rest
  if (task.startsWith('flight.')) document.documentElement.dataset.flight = '';

  const close = (text) => {
    if (document.getElementById('webgym-end')) return;
    const card = document.createElement('div');
    card.id = 'webgym-end';
    card.textContent = text;
    document.body.append(card);
    document.documentElement.dataset.ended = '';
  };

  const prepare = core.startEpisode;
  core.startEpisode = () => {
    prepare(); // makes the cover and the display, which the start and the end of an episode write to
    if (elsewhere) close('This session plays another task.');
    else if (ended) close('The task has ended.' + (shown('reward') ? ` Reward: ${record.raw}` : ''));
    else if (!shown('cover')) core.startEpisodeReal();
  };

  const start = core.startEpisodeReal;
  core.startEpisodeReal = () => {
    if (elsewhere || ended) return;
    core.EPISODE_MAX_TIME = Number(given.seconds) * 1000;
    core.setDataMode(mode);
    Math.seedrandom(seed); // directly before the start, as the package does: the same seed gives its problem
    start();
    const said = core.getUtterance();
    const utterance = (typeof said === 'string' ? said : said.utterance).slice(0, 300).toWellFormed();
    record = { ...record, starts: record.starts + 1, utterance };
    write(record);
  };

  const end = core.endEpisode;
  core.endEpisode = (reward, proportional, reason) => {
    if (core.EP_TIMER === null) return; // already ended, or never begun
    ended = true;
    const now = read() ?? record;
    const first = !now.done; // another tab of this session may have ended it before
    if (first) record = { ...now, done: true, raw: reward, reason: String(reason ?? '').slice(0, 100).toWellFormed() };
    else record = now;
    end(reward, shown('decay') && proportional, reason);
    if (first) write({ ...record, reward: WOB_REWARD_GLOBAL });
  };
})();
