// One episode: its screen, its steps, its task and what the judges said. Whatever came from a page or a model is set as text.
import { WORDS, colourOf, el, kindOf, lasting, symbol } from './dom.js'

export class Panel {
  constructor(node, closed) {
    Object.assign(this, { node, closed, id: null, step: null, detail: null })
    node.addEventListener('keydown', (e) => this.key(e))
  }

  async open(id) {
    const fresh = id !== this.id
    this.id = id
    if (fresh) this.step = null // null: follow the latest
    await this.refresh()
    if (fresh && this.id === id && !this.node.hidden) this.node.querySelector('.close').focus({ preventScroll: true })
  }

  async refresh() {
    const id = this.id
    if (!id || this.asking) return
    this.asking = true
    try {
      const answer = await fetch(`/api/episodes/${id}`)
      if (id !== this.id || answer.status === 503) return // what is shown stays while the folder cannot be read
      this.detail = answer.ok ? await answer.json() : null
    } catch {
      return // the stream tells that the connection is lost
    } finally {
      this.asking = false
      if (id !== this.id) this.refresh()
    }
    this.show()
  }

  close() {
    this.id = this.detail = null
    this.node.hidden = true
    this.node.replaceChildren()
  }

  key(event) {
    if (event.key === 'Escape') this.closed()
    else if (event.key === 'ArrowLeft') this.walk(-1)
    else if (event.key === 'ArrowRight') this.walk(1)
    else return
    event.preventDefault()
  }

  /** The pictures one can step through: each step's, then what the last one led to. */
  frames() {
    const { steps, screenshot, url, title } = this.detail
    const frames = steps.map((step) => ({ screenshot: step.screenshot, url: step.url, title: step.title, aim: step.aim, step }))
    if (screenshot || !steps.length) frames.push({ screenshot, url, title, aim: null, step: null })
    return frames
  }

  walk(by) {
    const last = this.frames().length - 1
    const now = Math.min(last, Math.max(0, (this.step ?? last) + by))
    this.choose(now === last ? null : now)
  }

  choose(step) {
    const held = document.activeElement?.dataset?.keep
    this.step = step
    this.show()
    if (held) this.node.querySelector(`[data-keep="${CSS.escape(held)}"]`)?.focus({ preventScroll: true })
    this.node.querySelector('.history [aria-current]')?.scrollIntoView({ block: 'nearest' })
  }

  show() {
    this.node.hidden = false
    const scrolled = this.node.scrollTop
    const focused = document.activeElement?.dataset?.keep
    if (!this.detail) {
      this.node.replaceChildren(this.header('This episode is not there any more.'))
      return
    }
    const frames = this.frames()
    const at = Math.min(this.step ?? frames.length - 1, frames.length - 1)
    this.node.replaceChildren(
      this.header(this.detail.instruction || this.detail.task), this.facts(),
      this.screen(frames[at]), el('span', { class: 'address', text: frames[at].url || ' ', title: frames[at].title }),
      this.stepper(at, frames.length), ...this.parts(frames, at),
    )
    this.node.scrollTop = scrolled
    if (focused) this.node.querySelector(`[data-keep="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true })
  }

  header(text) {
    const close = el('button', { type: 'button', class: 'close', 'aria-label': 'Close', 'data-keep': 'close', text: '×', on: { click: () => this.closed() } })
    return el('header', {}, el('h2', { text, id: 'instruction' }), close)
  }

  facts() {
    const { doing, why, step, limit, seconds, website, agent, rulings } = this.detail
    const scores = rulings.map((one) => one.reward).filter((reward) => reward !== null)
    const kind = kindOf(doing, scores.length ? scores[scores.length - 1] : null)
    const state = el('span', { class: 'state' }, symbol(kind), WORDS[kind])
    state.style.setProperty('--colour', colourOf(kind))
    const said = [limit ? `step ${step} of at most ${limit}` : `${step} steps`, why, seconds ? lasting(seconds) : '', website, agent]
    return el('div', { class: 'facts-line' }, state, ...said.filter(Boolean).map((text) => el('span', { text })))
  }

  screen(frame) {
    const box = el('div', { class: 'screen' })
    if (!frame.screenshot) {
      box.append(el('span', { class: 'empty', text: 'No screenshot yet' }))
      return box
    }
    const before = this.node.querySelector('.screen img')
    const source = `/images/${frame.screenshot}`
    // The same picture is kept as it is, so that it does not blink.
    const image = before?.getAttribute('src') === source ? before : el('img', { src: source, alt: `Screenshot of ${frame.title || frame.url}` })
    box.append(image)
    if (frame.aim && this.detail.width) {
      const aim = el('span', { class: 'aim' })
      aim.style.left = `${(100 * frame.aim[0]) / this.detail.width}%`
      aim.style.top = `${(100 * frame.aim[1]) / this.detail.height}%`
      box.append(aim)
    }
    return box
  }

  stepper(at, frames) {
    const button = (text, keep, by) =>
      el('button', { type: 'button', text, 'data-keep': keep, disabled: at + by < 0 || at + by >= frames, on: { click: () => this.walk(by) } })
    const latest = el('button', { type: 'button', text: 'Latest', 'data-keep': 'latest', 'aria-pressed': String(this.step === null), on: { click: () => this.choose(null) } })
    const where = at < this.detail.steps.length ? `before step ${at + 1}` : `after step ${this.detail.steps.length}`
    return el('div', { class: 'stepper' }, button('Back', 'back', -1), el('span', { text: where }), button('Next', 'next', 1), latest)
  }

  parts(frames, at) {
    const { steps, groups, rulings, answer } = this.detail
    const shown = frames[at].step
    return [
      answer === null ? null : part('Answer', el('p', { text: answer })),
      ...rulings.map((one) => part(`Verdict of ${one.judge}: ${one.reward === null ? 'not scored' : one.reward ? 'success' : 'no success'}`, ...ruled(one))),
      shown?.reply ? part('Reply of the model', el('pre', { class: 'reply', text: shown.reply, tabindex: '0' })) : null,
      part(steps.length ? 'Steps' : 'No step yet', el('ol', { class: 'history' }, ...steps.map((step, n) => this.line(step, n, at)))),
      groups.length && !rulings.some((one) => one.facts.length)
        ? part('Facts to be shown', ...groups.flatMap((group) => [el('p', { class: 'group', text: group.description }), el('ul', {}, ...group.facts.map((text) => el('li', { class: 'fact', text })))]))
        : null,
    ].filter(Boolean)
  }

  line(step, n, at) {
    const where = [step.title, step.url].filter(Boolean).join(' · ')
    const button = el('button', { type: 'button', 'aria-current': n === at ? 'step' : null, 'data-keep': `step ${n}`, on: { click: () => this.choose(n) } },
      el('span', { class: 'n', text: String(step.index + 1) }), el('span', { class: 'w', text: step.words }), el('span', { class: 's', text: step.seconds ? lasting(step.seconds) : '' }),
      el('span', { class: 'where', text: where }))
    if (step.invalid) button.append(el('span', { class: 'bad', text: step.invalid }))
    if (step.error) button.append(el('span', { class: 'bad', text: step.error }))
    if (step.unchanged) button.append(el('span', { class: 'bad same', text: 'The page did not change.' }))
    return el('li', {}, button)
  }
}

function part(title, ...content) {
  return el('section', { class: 'part' }, el('h3', { text: title }), ...content)
}

function ruled(ruling) {
  const facts = ruling.facts.map((fact) =>
    el('li', { class: `fact ${fact.met ? 'met' : 'unmet'}` }, el('span', { text: fact.fact }, ...(fact.reason ? [el('small', { text: fact.reason })] : []))))
  return [...(ruling.reason ? [el('p', { text: ruling.reason })] : []), el('ul', {}, ...facts)]
}
