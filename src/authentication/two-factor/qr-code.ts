import { type Html, html } from '../../platform/pages/html.ts';

/** White modules around the code: what ISO/IEC 18004 asks for. They are drawn, so dark pages do not matter. */
const quietZone = 4;

/** A QR code as an SVG that reads out its title. No inline style, so it passes any content security policy. */
export async function qrCode(text: string, title: string): Promise<Html> {
  const { encode } = await import('uqr');
  const { data, size } = encode(text, { ecc: 'M', border: quietZone });
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" width="240" height="240" role="img" shape-rendering="crispEdges"><title>${title}</title><rect width="${size}" height="${size}" fill="#fff"/><path fill="#000" d="${data.map(darkRuns).join('')}"/></svg>`;
}

/** Neighbours in a row become one rectangle: a third of the size of one each. */
function darkRuns(row: readonly boolean[], y: number): string {
  let path = '';
  for (let x = 0; x < row.length; x += 1) {
    const start = x;
    while (row[x]) x += 1;
    if (x > start) path += `M${start} ${y}h${x - start}v1h${start - x}z`;
  }
  return path;
}
