/** The text without the given characters at its end, in time proportional to how many there are. A regular expression
 *  that looks for them begins anew at each such character, wherever it stands. Pure. */
export function trimEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
