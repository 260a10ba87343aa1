// The head of the run: figures, progress, legend, gates.
import { $, SYMBOLS, WORDS, brief, colourOf, count, el, lasting, say, symbol } from './dom.js'

const KINDS = Object.keys(SYMBOLS)
const ENDS = ['passed', 'missed', 'done', 'failed', 'cancelled']
const LIVE_ONLY = new Set(['navigating', 'screenshot', 'model', 'executing', 'saving', 'judging'])

export function kindsOf(head) {
  const counts = Object.fromEntries(KINDS.map((kind) => [kind, head.counts[kind] ?? 0]))
  counts.passed = head.passed
  counts.missed = head.scored - head.passed
  counts.done = Math.max(0, (head.counts.done ?? 0) - head.scored)
  return counts
}

export class Figures {
  constructor(filter) {
    this.only = new Set()
    this.chips = new Map()
    this.gates = new Map()
    for (const kind of KINDS) {
      const number = el('b', { text: '0' })
      const chip = el('button', { type: 'button', class: 'chip none', 'aria-pressed': 'false' }, symbol(kind), WORDS[kind], number)
      chip.style.setProperty('--colour', colourOf(kind))
      chip.addEventListener('click', () => {
        if (!this.only.delete(kind)) this.only.add(kind)
        chip.setAttribute('aria-pressed', String(this.only.has(kind)))
        filter(new Set(this.only))
      })
      this.chips.set(kind, { chip, number })
      $('legend').append(chip)
    }
    this.bars = new Map(ENDS.map((kind) => {
      const bar = el('i')
      bar.style.setProperty('--colour', colourOf(kind))
      $('progress').append(bar)
      return [kind, bar]
    }))
  }

  show(head) {
    const counts = kindsOf(head)
    say($('run'), head.run || 'WebGym')
    say($('agent'), head.agent)
    say($('notice'), head.notice)
    $('notice').hidden = !head.notice
    const ended = (head.counts.done ?? 0) + (head.counts.failed ?? 0) + (head.counts.cancelled ?? 0)
    say($('ended'), count(ended))
    say($('total'), `of ${count(head.total)}`)
    say($('time'), this.time(head, ended))
    for (const [kind, bar] of this.bars) {
      bar.hidden = !counts[kind] // an empty one would keep its gap, and a run that is done would not reach the end
      bar.style.width = `${(100 * counts[kind]) / (head.total || 1)}%`
    }
    $('progress').setAttribute('aria-label', `${ended} of ${head.total} ended`)
    say($('success'), head.scored ? `${((100 * head.passed) / head.scored).toFixed(1)} %` : '–')
    say($('judged'), head.scored ? `${count(head.passed)} of ${count(head.scored)} judged` : 'nothing judged yet')
    say($('eph'), head.episodes_per_hour ? brief(head.episodes_per_hour) : '–')
    say($('sps'), head.steps_per_second ? brief(head.steps_per_second) : '–')
    $('tile-model').hidden = head.model_use === null
    $('tile-browser').hidden = head.browser_use === null
    if (head.model_use !== null) say($('model'), `${Math.round(100 * head.model_use)} %`)
    if (head.browser_use !== null) say($('browser'), `${Math.round(100 * head.browser_use)} %`)
    say($('tokens'), head.tokens_per_second ? `${brief(head.tokens_per_second)} tokens/s` : '')
    for (const [kind, { chip, number }] of this.chips) {
      say(number, count(counts[kind]))
      chip.classList.toggle('none', counts[kind] === 0)
      chip.hidden = !head.live && LIVE_ONLY.has(kind) && counts[kind] === 0
    }
    this.showGates(head.gates)
  }

  time(head, ended) {
    if (!head.elapsed) return ''
    const parts = [head.live ? `running for ${lasting(head.elapsed)}` : `took ${lasting(head.elapsed)}`]
    if (head.live && head.episodes_per_hour && ended < head.total) {
      parts.push(`about ${lasting(((head.total - ended) / head.episodes_per_hour) * 3600)} left`)
    }
    if (head.retries) parts.push(`${count(head.retries)} retries`)
    return parts.join(' · ')
  }

  showGates(gates) {
    $('gates-card').hidden = gates.length === 0
    for (const gate of gates) {
      if (!this.gates.has(gate.name)) this.gates.set(gate.name, this.newGate(gate.name))
      const shown = this.gates.get(gate.name)
      say(shown.queue, gate.queued ? `${count(gate.queued)} in line` : 'no line')
      shown.queue.classList.toggle('long', gate.queued > gate.size)
      shown.bar.style.width = `${Math.min(100, (100 * gate.busy) / gate.size)}%`
      say(shown.name, `${gate.name} ${gate.busy}/${gate.size}`)
      say(shown.wait, pair(gate.wait, gate.wait_p95))
      say(shown.takes, pair(gate.service, gate.service_p95))
    }
  }

  newGate(name) {
    const shown = { name: el('span', { class: 'name', text: name }), queue: el('span', { class: 'queue' }), bar: el('i'), wait: el('b'), takes: el('b') }
    $('gates').append(
      el('div', { class: 'gate' }, shown.name, shown.queue, el('div', { class: 'bar' }, shown.bar),
        el('div', { class: 'times' }, el('span', {}, 'wait ', shown.wait), el('span', {}, 'takes ', shown.takes))),
    )
    return shown
  }
}

function pair(mean, most) {
  const short = (seconds) => seconds.toFixed(seconds < 9.95 ? 2 : 0)
  return `${short(mean)} · ${short(most)} s`
}
