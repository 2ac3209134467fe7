/**
 * The size of an SVG document, by its `width` and `height` in pixels, else by its `viewBox` (SVG 2 §8.2).
 * @returns undefined if it says neither: then it fills a square.
 */
export function readSvgSize(markup: string): { width: number; height: number } | undefined {
  const [root = ''] = /<svg\b[^>]*>/.exec(markup) ?? [];
  const numberOf = (name: string) =>
    Number(new RegExp(`\\s${name}\\s*=\\s*["']\\s*([\\d.]+)(?:px)?\\s*["']`).exec(root)?.[1]);
  const [width, height] = [numberOf('width'), numberOf('height')];
  if (width > 0 && height > 0) return { width, height };
  const [, , w = 0, h = 0] =
    /\sviewBox\s*=\s*["']([^"']*)["']/
      .exec(root)?.[1]
      ?.trim()
      .split(/[\s,]+/)
      .map(Number) ?? [];
  return w > 0 && h > 0 ? { width: w, height: h } : undefined;
}
