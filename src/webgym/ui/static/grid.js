// One cell an episode, on a canvas. Only cells that changed are drawn again, each as one copy of a picture made before, so
// two thousand of them cost a few milliseconds.
import { SYMBOLS, WORDS, el, kindOf, say } from './dom.js'

const SIZES = [[46, 30], [38, 26], [32, 22], [28, 18], [24, 16], [20, 14], [16, 14], [12, 12], [10, 10]]
const NUMBERED = 24 // narrower cells have no room for their step
const GAP = 3

export class Grid {
  constructor(frame, canvas, tip, said, open) {
    Object.assign(this, { frame, canvas, tip, said, open })
    this.pen = canvas.getContext('2d')
    this.cells = new Map() // by key, in order
    this.order = []
    this.only = new Set()
    this.sprites = new Map()
    this.dirty = new Set()
    this.all = true
    this.focus = -1
    this.chosen = null
    this.waiting = false
    new ResizeObserver(() => this.relayout()).observe(frame)
    window.addEventListener('resize', () => this.relayout())
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.relayout(true))
    canvas.addEventListener('mousemove', (e) => this.hover(this.at(e)))
    canvas.addEventListener('mouseleave', () => this.hover(-1))
    canvas.addEventListener('click', (e) => this.pick(this.at(e)))
    frame.addEventListener('keydown', (e) => this.key(e))
    frame.addEventListener('focus', () => frame.matches(':focus-visible') && this.move(Math.max(0, this.focus)))
    frame.addEventListener('blur', () => this.hover(-1))
  }

  replace(rows) {
    this.cells.clear()
    this.name(rows)
    this.relayout(true)
  }

  name(rows) {
    for (const [key, id, label, doing, step, limit, reward, why] of rows) {
      const known = this.cells.has(key)
      const place = known ? this.cells.get(key).place : -1
      this.cells.set(key, { key, id, label, doing, step, limit, reward, why, kind: kindOf(doing, reward), place })
      if (known) this.order[place] = this.cells.get(key)
      this.dirty.add(key)
      this.all ||= !known
    }
  }

  change(rows) {
    for (const [key, doing, step, limit, reward, why] of rows) {
      const cell = this.cells.get(key)
      if (!cell) continue
      Object.assign(cell, { doing, step, limit, reward, why, kind: kindOf(doing, reward) })
      this.dirty.add(key)
    }
  }

  remove(keys) {
    for (const key of keys) this.all = this.cells.delete(key) || this.all
  }

  show(kinds) {
    this.only = kinds
    this.all = true
    this.paint()
  }

  choose(id) {
    if (id === this.chosen) return
    this.chosen = id
    this.all = true
    this.paint()
  }

  relayout(restyle = false) {
    if (restyle) this.colours = null
    this.all = true
    this.paint()
  }

  paint() {
    if (this.waiting) return
    this.waiting = true
    requestAnimationFrame(() => {
      this.waiting = false
      this.draw()
    })
  }

  draw() {
    if (!this.frame.clientWidth) return
    if (this.all) this.lay()
    else for (const key of this.dirty) if (this.cells.has(key)) this.stamp(this.cells.get(key))
    this.dirty.clear()
    this.all = false
    if (this.focus >= 0 && !this.tip.hidden) this.explain(this.focus)
  }

  lay() {
    this.order = [...this.cells.values()]
    const width = this.frame.clientWidth
    const room = Math.max(window.innerHeight * 0.6, window.innerHeight - this.frame.getBoundingClientRect().top - window.scrollY - 44)
    const fits = ([w, h]) => Math.ceil(this.order.length / Math.floor((width + GAP) / (w + GAP))) * (h + GAP) - GAP <= room
    const [narrowest, h] = SIZES.find(fits) ?? SIZES[SIZES.length - 1]
    this.columns = Math.max(1, Math.floor((width + GAP) / (narrowest + GAP)))
    this.pitch = (width + GAP) / this.columns // not a whole number, so that the columns fill the width
    const w = Math.floor(this.pitch - GAP)
    const height = Math.max(h, Math.ceil(this.order.length / this.columns) * (h + GAP))
    const ratio = window.devicePixelRatio || 1
    if (w !== this.w || h !== this.h || ratio !== this.ratio || !this.colours) this.sprites.clear()
    Object.assign(this, { w, h, ratio })
    this.canvas.width = Math.round(width * ratio)
    this.canvas.height = Math.round(height * ratio)
    this.canvas.style.height = `${height}px`
    this.order.forEach((cell, place) => {
      cell.place = place
      this.stamp(cell)
    })
  }

  stamp(cell) {
    const { w, h, ratio, pen } = this
    const x = (cell.place % this.columns) * this.pitch
    const y = Math.floor(cell.place / this.columns) * (h + GAP)
    const dim = this.only.size > 0 && !this.only.has(cell.kind)
    const mark = cell.place === this.focus ? 2 : cell.id === this.chosen ? 1 : 0
    const sprite = this.sprite(cell.kind, cell.step, dim, mark)
    const left = Math.round(x * ratio)
    const top = Math.round(y * ratio)
    pen.clearRect(left, top, sprite.width, sprite.height)
    pen.drawImage(sprite, left, top)
  }

  sprite(kind, step, dim, mark) {
    const number = this.w >= NUMBERED && step > 0 ? step : 0
    const name = `${kind} ${number} ${dim} ${mark}`
    let made = this.sprites.get(name)
    if (!made) this.sprites.set(name, (made = this.make(kind, number, dim, mark)))
    return made
  }

  make(kind, number, dim, mark) {
    const { w, h, ratio } = this
    const colours = this.palette()
    const made = document.createElement('canvas')
    made.width = Math.ceil(w * ratio)
    made.height = Math.ceil(h * ratio)
    const pen = made.getContext('2d')
    pen.scale(ratio, ratio)
    pen.globalAlpha = dim ? 0.22 : 1
    const solid = kind === 'passed' || kind === 'failed'
    pen.beginPath()
    pen.roundRect(0.5, 0.5, w - 1, h - 1, Math.min(6, h / 4))
    pen.fillStyle = colours[kind]
    pen.globalAlpha *= kind === 'planned' ? 0.12 : solid ? 0.85 : 0.24
    pen.fill()
    pen.globalAlpha = dim ? 0.22 : 1
    if (mark) {
      pen.lineWidth = 2
      pen.strokeStyle = mark === 2 ? colours.accent : colours.ink
      pen.stroke()
    }
    const ink = solid ? colours.bg : colours[kind]
    const size = Math.min(h - 4, number ? w * 0.36 : w - 4, 15)
    const [path, full] = SYMBOLS[kind]
    pen.save()
    pen.translate(number ? Math.max(3, w * 0.1) : (w - size) / 2, (h - size) / 2)
    pen.scale(size / 12, size / 12)
    pen.strokeStyle = pen.fillStyle = ink
    pen.lineWidth = 1.9
    pen.lineCap = pen.lineJoin = 'round'
    const shape = new Path2D(path)
    if (full) pen.fill(shape)
    pen.stroke(shape)
    pen.restore()
    if (number) {
      pen.fillStyle = solid ? colours.bg : colours.ink
      pen.font = `600 ${Math.min(13, h * 0.58).toFixed(1)}px ${colours.text}`
      pen.textAlign = 'right'
      pen.textBaseline = 'middle'
      pen.fillText(String(number), w - Math.max(3, w * 0.12), h / 2 + 0.5)
    }
    return made
  }

  palette() {
    if (this.colours) return this.colours
    const style = getComputedStyle(document.documentElement)
    const read = (name) => style.getPropertyValue(`--${name}`).trim()
    this.colours = Object.fromEntries([...Object.keys(SYMBOLS), 'accent', 'ink', 'bg', 'text'].map((name) => [name, read(name)]))
    return this.colours
  }

  at(event) {
    const column = Math.floor(event.offsetX / this.pitch)
    const place = Math.floor(event.offsetY / (this.h + GAP)) * this.columns + column
    return column < this.columns && place < this.order.length ? place : -1
  }

  key(event) {
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns }
    if (event.key in steps) this.move(Math.min(this.order.length - 1, Math.max(0, this.focus + steps[event.key])))
    else if (event.key === 'Home') this.move(0)
    else if (event.key === 'End') this.move(this.order.length - 1)
    else if (event.key === 'Enter' || event.key === ' ') this.pick(this.focus)
    else return
    event.preventDefault()
  }

  move(place) {
    if (!this.order[place]) return
    this.hover(place)
    const cell = this.order[place]
    say(this.said, `${WORDS[cell.kind]}, step ${cell.step}. ${cell.label}. ${cell.why}`)
    const top = this.canvas.getBoundingClientRect().top + Math.floor(place / this.columns) * (this.h + GAP)
    if (top < 60) window.scrollBy(0, top - 80)
    else if (top + this.h > window.innerHeight) window.scrollBy(0, top + this.h - window.innerHeight + 20)
  }

  hover(place) {
    if (place === this.focus && !this.tip.hidden) return
    const before = this.order[this.focus]
    this.focus = place
    if (before) this.stamp(before)
    if (place < 0) {
      this.tip.hidden = true
      return
    }
    this.stamp(this.order[place])
    this.explain(place)
  }

  explain(place) {
    const cell = this.order[place]
    if (!cell) return
    const far = cell.limit ? `step ${cell.step} of at most ${cell.limit}` : `step ${cell.step}`
    this.tip.replaceChildren(
      el('b', { text: `${WORDS[cell.kind]} · ${far}` }),
      el('span', { text: cell.label }),
      ...(cell.why ? [el('span', { text: cell.why })] : []),
    )
    this.tip.hidden = false
    const x = (place % this.columns) * this.pitch
    const y = Math.floor(place / this.columns) * (this.h + GAP) + this.h + 8
    this.tip.style.left = `${Math.max(0, Math.min(x, this.frame.clientWidth - this.tip.offsetWidth))}px`
    this.tip.style.top = `${y}px`
  }

  pick(place) {
    if (this.order[place]) this.open(this.order[place].id)
  }
}
