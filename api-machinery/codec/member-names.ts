/** Names of the members of objects with very many. V8 sorts the members of such an object each time that it lists
 *  them, which takes as long as everything else that is done to it. The code that builds one already has the list. */

type Members = Readonly<Record<string, unknown>>;

/** From this number of members on, a list is worth its memory. */
const WIDE_MEMBERS = 2000;

export class MemberNames {
  readonly #known: Map<object, readonly string[]>;

  /** `known`: what another one knows by now. */
  constructor(known?: MemberNames) {
    this.#known = new Map(known === undefined ? [] : known.#known);
  }

  /** Notes the names of an object that is not modified any more. */
  learn(object: object, names: readonly string[]): void {
    if (names.length >= WIDE_MEMBERS) this.#known.set(object, names);
  }

  /** An object is about to be changed. */
  forget(object: object): void {
    this.#known.delete(object);
  }

  /** The names of its members, in their order. */
  of(object: Members): readonly string[] {
    return this.#known.get(object) ?? Object.keys(object);
  }

  /** `undefined`: the object was not built here, or has few members. */
  known(object: object): readonly string[] | undefined {
    return this.#known.get(object);
  }
}
