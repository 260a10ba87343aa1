// The episodes of the run's folder, a page at a time.
import { $, WORDS, colourOf, count, el, kindOf, lasting, say, symbol } from './dom.js'

const AGAIN = 1500 // ms until the list is asked for again while files are still to be read

export class List {
  constructor(go, open) {
    Object.assign(this, { go, open, asked: 0 })
    $('by-outcome').addEventListener('change', (e) => go({ outcome: e.target.value, page: '' }))
    $('by-reward').addEventListener('change', (e) => go({ reward: e.target.value, page: '' }))
    let typing
    $('by-website').addEventListener('input', (e) => {
      clearTimeout(typing)
      typing = setTimeout(() => go({ website: e.target.value, page: '' }), 250)
    })
    $('earlier').addEventListener('click', () => go({ page: String(this.page - 1) }))
    $('later').addEventListener('click', () => go({ page: String(this.page + 1) }))
  }

  async show(place, chosen) {
    const asked = ++this.asked
    for (const name of ['outcome', 'reward', 'website']) {
      const field = $(`by-${name}`)
      if (document.activeElement !== field) field.value = place.get(name) ?? ''
    }
    const query = new URLSearchParams()
    for (const name of ['outcome', 'reward', 'website', 'page']) if (place.get(name)) query.set(name, place.get(name))
    const answer = await fetch(`/api/episodes?${query}`).catch(() => null)
    if (asked !== this.asked || !answer) return
    if (!answer.ok) return say($('found'), answer.status === 503 ? 'The folder cannot be read just now.' : 'There is no such filter.')
    const found = await answer.json()
    this.page = found.page
    $('lines').replaceChildren(...found.lines.map((line) => this.line(line, chosen)))
    say($('found'), `${count(found.found)} of ${count(found.total)} episodes${found.unread ? `; ${count(found.unread)} still to be read` : ''}`)
    say($('page'), `page ${count(found.page)} of ${count(found.pages)}`)
    $('earlier').disabled = found.page <= 1
    $('later').disabled = found.page >= found.pages
    if (found.unread) setTimeout(() => { if (asked === this.asked && !$('episodes').hidden) this.show(place, chosen) }, AGAIN)
  }

  line(line, chosen) {
    const kind = kindOf(line.doing, line.reward)
    const state = el('span', { class: 'state', title: line.why }, symbol(kind), line.outcome.replace('_', ' '))
    state.style.setProperty('--colour', colourOf(kind))
    const replica = line.replica ? ` (repeat ${line.replica + 1})` : ''
    return el('tr', { class: line.id === chosen ? 'chosen' : null, 'data-id': line.id, on: { click: () => this.open(line.id) } },
      el('td', {}, state),
      el('td', {}, el('button', { type: 'button', text: (line.instruction || line.task) + replica }), ...(line.doing === 'failed' || line.doing === 'cancelled' ? [el('span', { class: 'note line', text: line.why })] : [])),
      el('td', {}, el('span', { class: 'line', text: line.website })),
      el('td', { class: 'number', text: line.stored ? count(line.steps) : '' }),
      el('td', { class: 'number', text: line.seconds ? lasting(line.seconds) : '' }),
      el('td', { text: line.reward === null ? '–' : String(line.reward), title: WORDS[kind] }))
  }

  choose(id) {
    for (const row of $('lines').children) row.classList.toggle('chosen', row.dataset.id === id)
  }
}
