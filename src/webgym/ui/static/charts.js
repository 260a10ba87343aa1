// Small charts of the last ten minutes, from the server's samples.
const MOST = 300

export class Samples {
  constructor() {
    this.points = [] // [at, episodes an hour, steps a second, model in use, browsers in use]
  }

  replace(points) {
    this.points = points.slice(-MOST)
  }

  add(points) {
    if (points.length) this.points = [...this.points, ...points].slice(-MOST)
  }

  draw(canvas, column, colour, top = 0) {
    const width = canvas.clientWidth
    const height = canvas.clientHeight
    if (!width) return
    const ratio = window.devicePixelRatio || 1
    canvas.width = Math.round(width * ratio)
    canvas.height = Math.round(height * ratio)
    const points = this.points.filter((point) => point[column] !== null)
    if (points.length < 2) return
    const pen = canvas.getContext('2d')
    pen.scale(ratio, ratio)
    const [first, last] = [points[0][0], points[points.length - 1][0]]
    const most = top || Math.max(...points.map((point) => point[column])) * 1.15 || 1
    const x = (at) => ((at - first) / (last - first || 1)) * width
    const y = (value) => height - 2 - (Math.min(value, most) / most) * (height - 5)
    pen.beginPath()
    points.forEach((point, n) => pen[n ? 'lineTo' : 'moveTo'](x(point[0]), y(point[column])))
    pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue(`--${colour}`).trim()
    pen.lineWidth = 1.6
    pen.lineJoin = 'round'
    pen.stroke()
    pen.lineTo(width, height)
    pen.lineTo(0, height)
    pen.fillStyle = pen.strokeStyle
    pen.globalAlpha = 0.14
    pen.fill()
  }
}
