/** Warning headers, code 299. Pure. Source: RFC 7234 §5.5; warnings, document 1 §9.4. */

/** Maximum number of characters of all texts together; beyond it each is truncated, and those that still
 *  don't fit are omitted. */
const MOST_CHARACTERS = 4096;
const CUT_CHARACTERS = 256;

/** Control characters are not allowed in a header. */
// oxlint-disable-next-line no-control-regex -- exactly these are meant
const CONTROL = /[\u0000-\u001f\u007f]+/g;

/** Returns a header value as Node writes it: one character per byte of UTF-8. */
function headerText(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function formatWarning(text: string): string {
  const quoted = text.replaceAll(CONTROL, ' ').replaceAll(/[\\"]/g, (found) => `\\${found}`);
  return headerText(`299 - "${quoted}"`);
}

/** Returns the value of the Warning header for texts in the given order; empty for none.
 *  Duplicate texts appear once. */
export function formatWarnings(texts: readonly string[]): string {
  const unique = [...new Set(texts)];
  const total = unique.reduce((sum, text) => sum + text.length, 0);
  if (total <= MOST_CHARACTERS) return unique.map(formatWarning).join(', ');
  const shown: string[] = [];
  let left = MOST_CHARACTERS;
  for (const text of unique) {
    // A surrogate pair cut in half is not valid text.
    const cut = text.slice(0, CUT_CHARACTERS).toWellFormed();
    left -= cut.length;
    if (left < 0) break;
    shown.push(formatWarning(cut));
  }
  return shown.join(', ');
}
