/** Compiles a regular expression into a matcher. Matching takes bounded time for every expression and text:
 *  an automaton runs over the text once and creates its states on demand. */
import { createMatcher, type Instruction, type Pattern } from './matcher.ts';
import { PatternError, type PatternNode, parsePattern } from './parse.ts';

const MAX_SOURCE = 64 * 1024;
const MAX_INSTRUCTIONS = 10_000;

function read(source: string): PatternNode {
  if (source.length > MAX_SOURCE) throw new PatternError('expression too large');
  return parsePattern(source);
}

/** How many instructions an expression takes, without making them.
 *  @throws PatternError if it is no expression, or one that is too large */
export function measurePattern(source: string): number {
  const size = 1 + sizeOf(read(source));
  if (size > MAX_INSTRUCTIONS) throw new PatternError('expression too large');
  return size;
}

function sizeOf(node: PatternNode): number {
  switch (node.kind) {
    case 'empty':
      return 0;
    case 'set':
    case 'assertion':
      return 1;
    case 'sequence':
      return sum(node.nodes);
    case 'choice':
      return 1 + sum(node.nodes);
    case 'repeat': {
      const size = sizeOf(node.node);
      const open = node.max === Number.POSITIVE_INFINITY;
      return node.min * size + (open ? size + 1 : (node.max - node.min) * (size + 1));
    }
    default:
      return node satisfies never;
  }
}

const sum = (nodes: readonly PatternNode[]): number => nodes.reduce((total, node) => total + sizeOf(node), 0);

/** @throws PatternError if the expression is invalid or too large */
export function compilePattern(source: string): Pattern {
  const root = read(source);
  const program: Instruction[] = [];
  const end = emit(program, { kind: 'match' });
  const start = build(program, root, end);
  return createMatcher({ instructions: program, start, anchored: isAnchored(root) });
}

function emit(program: Instruction[], instruction: Instruction): number {
  if (program.length >= MAX_INSTRUCTIONS) throw new PatternError('expression too large');
  program.push(instruction);
  return program.length - 1;
}

/** Adds a node that continues with `next`. Returns its first instruction. */
function build(program: Instruction[], node: PatternNode, next: number): number {
  switch (node.kind) {
    case 'empty':
      return next;
    case 'set':
      return emit(program, { kind: 'set', set: node.set, next });
    case 'assertion':
      return emit(program, { kind: 'assertion', assertion: node.assertion, next });
    case 'sequence':
      return node.nodes.reduceRight((after, each) => build(program, each, after), next);
    case 'choice':
      return emit(program, { kind: 'split', to: node.nodes.map((each) => build(program, each, next)) });
    case 'repeat':
      return buildRepeat(program, node, next);
    default:
      return node satisfies never;
  }
}

function buildRepeat(
  program: Instruction[],
  { node, min, max }: PatternNode & { readonly kind: 'repeat' },
  next: number,
): number {
  let after = next;
  if (max === Number.POSITIVE_INFINITY) {
    const targets = [next];
    const loop = emit(program, { kind: 'split', to: targets });
    targets.unshift(build(program, node, loop));
    after = loop;
  } else {
    for (let count = min; count < max; count += 1) {
      after = emit(program, { kind: 'split', to: [build(program, node, after), next] });
    }
  }
  for (let count = 0; count < min; count += 1) {
    after = build(program, node, after);
  }
  return after;
}

/** Whether a match can only begin at the start of the text. */
function isAnchored(node: PatternNode): boolean {
  switch (node.kind) {
    case 'assertion':
      return node.assertion === 'textStart';
    case 'sequence':
      return node.nodes[0] !== undefined && isAnchored(node.nodes[0]);
    case 'choice':
      return node.nodes.every(isAnchored);
    case 'repeat':
      return node.min > 0 && isAnchored(node.node);
    case 'empty':
    case 'set':
      return false;
    default:
      return node satisfies never;
  }
}
