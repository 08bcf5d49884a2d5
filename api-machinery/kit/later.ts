/** A walk over a value with very many members, cut into slices. What comes after the first slice is put off: the walk
 *  returns objects and lists to which members are added later, each time in their order. */
import type { Steps } from './steps.ts';

/** Members that one slice looks at: a few milliseconds of any walk. */
const SLICE_MEMBERS = 4000;

export class Later {
  #left = SLICE_MEMBERS;
  readonly #rest: (() => void)[] = [];

  /** Does the work for each item: now for those that fit into the slice, later for the others. */
  each<T>(items: readonly T[], work: (item: T, index: number) => void): void {
    this.#from(0, items, work);
  }

  #from<T>(first: number, items: readonly T[], work: (item: T, index: number) => void): void {
    let index = first;
    for (const item of first === 0 ? items : items.slice(first, first + this.#left)) {
      if (this.#left <= 0) break;
      this.#left -= 1;
      work(item, index);
      index += 1;
    }
    if (index < items.length) this.#rest.push(() => this.#from(index, items, work));
  }

  /** Runs the deferred work, a slice at a time. */
  *steps(): Steps<void> {
    while (this.#rest.length > 0) {
      yield;
      this.#left = SLICE_MEMBERS;
      while (this.#left > 0) {
        const work = this.#rest.pop();
        if (work === undefined) break;
        work();
      }
    }
  }
}
