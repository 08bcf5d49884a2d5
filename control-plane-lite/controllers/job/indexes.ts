/** Sets of completed indexes as text: `1,3-5`. Pure. Source: batch/v1 JobStatus.completedIndexes. */

export function formatIndexes(indexes: ReadonlySet<number>): string {
  const ranges: string[] = [];
  let first: number | undefined;
  let last = -2;
  const close = (): void => {
    if (first === undefined) return;
    if (first === last) ranges.push(`${first}`);
    else ranges.push(last === first + 1 ? `${first},${last}` : `${first}-${last}`);
  };
  for (const index of [...indexes].toSorted((left, right) => left - right)) {
    if (index !== last + 1) {
      close();
      first = index;
    }
    last = index;
  }
  close();
  return ranges.join(',');
}

/** The indexes below `completions`; unparsable parts are ignored. */
export function parseIndexes(text: string, completions: number): ReadonlySet<number> {
  const indexes = new Set<number>();
  for (const range of text === '' ? [] : text.split(',')) {
    const match = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(range);
    if (match === null) continue;
    const last = Math.min(Number(match[2] ?? match[1]), completions - 1);
    for (let index = Number(match[1]); index <= last; index += 1) indexes.add(index);
  }
  return indexes;
}
