// Rectangles in a buffer of pixels. A canvas draws a hundred thousand of them too slowly for every
// frame; this only writes memory, and the canvas draws the result once.

// Returns "#rrggbb" as a pixel.
function pixelOf(colour) {
  const value = parseInt(colour.slice(1), 16);
  return (0xff000000 | (value & 0xff) << 16 | value & 0xff00 | value >> 16) >>> 0;
}

export class Raster {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.pixels = new Map();
    this.width = 0;
    this.height = 0;
    this.rectangles = 0;  // since it was empty
  }

  // Makes it empty, of a size in pixels.
  clear(width, height) {
    if (width !== this.width || height !== this.height) {
      this.width = this.canvas.width = Math.max(1, width);
      this.height = this.canvas.height = Math.max(1, height);
      this.image = new ImageData(this.width, this.height);
      this.data = new Uint32Array(this.image.data.buffer);
    }
    this.data.fill(0);
    this.rectangles = 0;
  }

  // Returns the pixel of a colour for fill().
  pixel(colour) {
    let pixel = this.pixels.get(colour);
    if (pixel === undefined) {
      pixel = pixelOf(colour);
      this.pixels.set(colour, pixel);
    }
    return pixel;
  }

  // Fills the columns from `left` to before `right`, at least one, and likewise the rows. Parts
  // outside are cut off.
  rect(left, right, top, bottom, colour) {
    const from = Math.round(left);
    const row = Math.round(top);
    this.fill(Math.max(0, from), Math.min(this.width, Math.max(Math.round(right), from + 1)),
              Math.max(0, row), Math.min(this.height, Math.max(Math.round(bottom), row + 1)),
              this.pixel(colour));
  }

  // The same for whole numbers that are inside.
  fill(from, to, top, bottom, pixel) {
    if (from >= to) return;
    ++this.rectangles;
    const {data, width} = this;
    const narrow = to - from < 8;
    for (let row = top * width, end = bottom * width; row < end; row += width) {
      if (narrow) {
        for (let at = row + from, last = row + to; at < last; ++at) data[at] = pixel;
      } else {
        data.fill(pixel, row + from, row + to);
      }
    }
  }

  // Copies a row of pixels to the rows from `top` to before `bottom`.
  repeat(row, top, bottom) {
    for (let at = top * this.width, end = bottom * this.width; at < end; at += this.width) this.data.set(row, at);
  }

  // Draws it to a place of a canvas; pixels may become taller.
  drawTo(context, left, top, width, height) {
    this.canvas.getContext("2d").putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.canvas, left, top, width, height);
  }
}
