/** Matching of texts with parsed globs. Pure. Takes at most the product of both lengths, unlike a regular
 *  expression with several stars, whose time grows with a power of the text's length. */

/** One part of a glob: any characters, or one character of a kind. */
export type GlobPart = 'any' | ((character: string) => boolean);

/** Reports whether the parts match the whole text. */
export function matchesGlob(parts: readonly GlobPart[], text: string): boolean {
  let part = 0;
  let at = 0;
  // The last star and the end of its match. Earlier stars need no other end, because this one can extend.
  let star = -1;
  let starEnd = 0;
  while (at < text.length) {
    const wanted = parts[part];
    if (wanted === 'any') {
      star = part;
      starEnd = at;
      part += 1;
    } else if (wanted?.(text.charAt(at)) === true) {
      part += 1;
      at += 1;
    } else if (star >= 0) {
      starEnd += 1;
      at = starEnd;
      part = star + 1;
    } else {
      return false;
    }
  }
  while (parts[part] === 'any') part += 1;
  return part === parts.length;
}
