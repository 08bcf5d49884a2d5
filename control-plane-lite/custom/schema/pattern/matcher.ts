/** Runs a compiled expression over a text as a deterministic automaton whose states are created on demand. A
 *  state is the set of instructions that may match the next character. */
import { type CharSet, isWord } from './char-set.ts';
import type { Assertion } from './parse.ts';

export type Instruction =
  | { readonly kind: 'match' }
  | { readonly kind: 'set'; readonly set: CharSet; readonly next: number }
  | { readonly kind: 'assertion'; readonly assertion: Assertion; readonly next: number }
  | { readonly kind: 'split'; readonly to: readonly number[] };

export interface Pattern {
  /** Whether the expression is found in the text; `undefined`: finding out would take too long. What it takes is
   *  taken from the budget, if there is one. */
  matches(text: string, budget?: StepBudget): boolean | undefined;
}

/** Budget of steps for a whole task, for all its texts and expressions. */
export interface StepBudget {
  /** Instructions that may be looked at still. Steps that were made before are free. */
  left: number;
}

export interface Program {
  readonly instructions: readonly Instruction[];
  readonly start: number;
  /** A match can only begin at the start of the text. */
  readonly anchored: boolean;
}

/** Properties of the characters before and after a position, for assertions. */
type Neighbour = 'none' | 'newline' | 'word' | 'other';

interface State {
  readonly threads: readonly number[];
  readonly before: Neighbour;
  /** By character, of the first 128. */
  readonly next: (State | undefined)[];
  /** Of others that were met. */
  readonly wide: Map<number, State>;
}

const ASCII = 128;
const MAX_STATES = 256;
const MAX_WIDE = 4096;
/** Instructions looked at in one text before it is given up: some 10 ms. Steps that were made before are free. */
const MAX_STEPS = 50_000;
const NEWLINE = 0x0a;

const neighbourOf = (point: number): Neighbour =>
  point === NEWLINE ? 'newline' : isWord(point) ? 'word' : 'other';

function holds(assertion: Assertion, before: Neighbour, after: Neighbour): boolean {
  switch (assertion) {
    case 'textStart':
      return before === 'none';
    case 'textEnd':
      return after === 'none';
    case 'lineStart':
      return before === 'none' || before === 'newline';
    case 'lineEnd':
      return after === 'none' || after === 'newline';
    case 'wordBoundary':
      return (before === 'word') !== (after === 'word');
    case 'noWordBoundary':
      return (before === 'word') === (after === 'word');
    default:
      return assertion satisfies never;
  }
}

const emptyState = (threads: readonly number[], before: Neighbour): State => ({
  threads,
  before,
  next: Array<State | undefined>(ASCII).fill(undefined),
  wide: new Map(),
});

class Automaton implements Pattern {
  readonly #program: Program;
  /** Round in which an instruction was last reached. */
  readonly #seen: Int32Array;
  readonly #found = emptyState([], 'other');
  readonly #dead = emptyState([], 'other');
  readonly #initial: State;
  #states = new Map<string, State>();
  #round = 0;
  #steps = 0;

  constructor(program: Program) {
    this.#program = program;
    this.#seen = new Int32Array(program.instructions.length);
    this.#initial = emptyState([program.start], 'none');
  }

  matches(text: string, budget?: StepBudget): boolean | undefined {
    this.#steps = 0;
    const found = this.#run(text, Math.min(MAX_STEPS, budget?.left ?? MAX_STEPS));
    if (budget !== undefined) budget.left -= this.#steps;
    return found;
  }

  #run(text: string, maxSteps: number): boolean | undefined {
    let state = this.#initial;
    for (let at = 0; at < text.length; at += 1) {
      const point = text.codePointAt(at) ?? 0;
      if (point > 0xffff) at += 1;
      state = (point < ASCII ? state.next[point] : state.wide.get(point)) ?? this.#step(state, point);
      if (state === this.#found) return true;
      if (state === this.#dead) return false;
      if (this.#steps > maxSteps) return undefined;
    }
    return this.#reach(state.threads, state.before, 'none') === undefined;
  }

  /** Consuming instructions that can be reached without a character; `undefined`: the expression has matched. */
  #reach(threads: readonly number[], before: Neighbour, after: Neighbour): readonly number[] | undefined {
    this.#round += 1;
    const reached: number[] = [];
    const pending = threads.toReversed();
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      if (this.#seen[at] === this.#round) continue;
      this.#seen[at] = this.#round;
      this.#steps += 1;
      const instruction = this.#program.instructions[at];
      if (instruction === undefined || instruction.kind === 'match') return undefined;
      if (instruction.kind === 'split') pending.push(...instruction.to);
      else if (instruction.kind === 'set') reached.push(at);
      else if (holds(instruction.assertion, before, after)) pending.push(instruction.next);
    }
    return reached;
  }

  #step(state: State, point: number): State {
    const made = this.#after(state, point);
    if (point < ASCII) state.next[point] = made;
    else if (state.wide.size < MAX_WIDE) state.wide.set(point, made);
    return made;
  }

  #after({ threads, before }: State, point: number): State {
    const { instructions, start, anchored } = this.#program;
    const neighbour = neighbourOf(point);
    const reached = this.#reach(threads, before, neighbour);
    if (reached === undefined) return this.#found;
    const next = new Set<number>();
    for (const at of reached) {
      const instruction = instructions[at];
      if (instruction?.kind === 'set' && instruction.set.has(point)) next.add(instruction.next);
    }
    if (!anchored) next.add(start);
    return next.size === 0
      ? this.#dead
      : this.#stateOf(
          [...next].sort((a, b) => a - b),
          neighbour,
        );
  }

  #stateOf(threads: readonly number[], before: Neighbour): State {
    const key = `${before} ${threads.join(' ')}`;
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    if (this.#states.size >= MAX_STATES) this.#states = new Map();
    const made = emptyState(threads, before);
    this.#states.set(key, made);
    return made;
  }
}

export const createMatcher = (program: Program): Pattern => new Automaton(program);
