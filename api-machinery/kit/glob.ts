/** Matches texts with globs whose stars have been read already. Pure. Takes at most the product of both lengths, unlike
 *  a regular expression with several stars, whose time grows with a power of the text's length. */

/** What one part of a glob matches: any characters, or one of some kind. */
export type GlobPart = 'any' | ((character: string) => boolean);

/** Reports whether the parts match the whole text. */
export function matchesGlob(parts: readonly GlobPart[], text: string): boolean {
  let part = 0;
  let at = 0;
  // The last star, and where what it stands for ends: one before it needs no other end, as this one gives way.
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
