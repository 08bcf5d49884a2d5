/** Regular expressions and scanners in production code. Uses a parser, so that no spelling is missed. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor, type VisitorObject } from 'rolldown/utils';

const ROOT = join(import.meta.dirname, '..', '..');
const ROOMS = ['api-machinery', 'cri-proto', 'volumes', 'eviction', 'agent', 'control-plane-lite', 'bin'];

/** A regular expression in the sources. */
export interface FoundPattern {
  readonly file: string;
  /** As written in the source; an expression if it is built at run time. */
  readonly source: string;
  readonly flags: string;
  readonly isComputed: boolean;
}

/** A function that scans a text or bytes by hand. */
export interface FoundScanner {
  readonly file: string;
  readonly name: string;
}

export interface FoundText {
  readonly patterns: readonly FoundPattern[];
  readonly scanners: readonly FoundScanner[];
}

export function productionFiles(): readonly string[] {
  return execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((path) => ROOMS.includes(path.split('/')[0] ?? ''))
    .filter((path) => !/\.(?:test|fixture)\.ts$|\/(?:gen|testing|conformance)\/|\/test-[^/]*$/.test(path))
    .filter((path) => existsSync(join(ROOT, path)));
}

/** Calls that read a position of a text; in a loop they are a scanner. */
const READS = new Set(['charCodeAt', 'codePointAt', 'charAt', 'lastIndexOf', 'substring', 'search', 'exec']);
/** Calls with a start position: their argument moves. */
const READS_FROM = new Set(['indexOf', 'startsWith', 'includes']);
/** Calls whose result replaces the text on which they were called. */
const CUTS = new Set(['slice', 'subarray', 'substring', 'substr', 'concat', 'replace', 'trimStart']);
const LOOPS = ['ForStatement', 'WhileStatement', 'DoWhileStatement', 'ForOfStatement'] as const;

/** Returns the regular expressions and scanners in a source. */
export function findIn(file: string, text: string): FoundText {
  const { program } = parseSync(file, text);
  const patterns: FoundPattern[] = [];
  const scanners = new Set<string>();
  const names: string[] = [];
  const named = new Map<object, string>();
  let loops = 0;
  const sourceOf = ({ start, end }: { start: number; end: number }): string => text.slice(start, end);
  const note = (): void => void scanners.add(names.findLast((name) => name !== '') ?? '(file)');
  const enter = (node: object & { id?: { name: string } | null }): void => {
    names.push(node.id?.name ?? named.get(node) ?? '');
  };
  const leave = (): void => void names.pop();
  const computed = (node: {
    callee: { type: string; start: number; end: number };
    start: number;
    end: number;
  }) => {
    if (node.callee.type !== 'Identifier' || sourceOf(node.callee) !== 'RegExp') return;
    patterns.push({ file, source: sourceOf(node), flags: '', isComputed: true });
  };
  const visitor: VisitorObject = {
    Literal(node) {
      if (!('regex' in node)) return;
      patterns.push({ file, source: node.regex.pattern, flags: node.regex.flags, isComputed: false });
    },
    NewExpression: computed,
    MethodDefinition: (node) => void named.set(node.value, sourceOf(node.key)),
    Property: (node) => void named.set(node.value, sourceOf(node.key)),
    VariableDeclarator: (node) => {
      if (node.init !== null) named.set(node.init, sourceOf(node.id));
    },
    FunctionDeclaration: enter,
    'FunctionDeclaration:exit': leave,
    FunctionExpression: enter,
    'FunctionExpression:exit': leave,
    ArrowFunctionExpression: enter,
    'ArrowFunctionExpression:exit': leave,
    CallExpression(node) {
      computed(node);
      if (node.callee.type !== 'MemberExpression') return;
      const called = sourceOf(node.callee.property);
      const reads = loops > 0 && READS.has(called);
      const readsFrom = READS_FROM.has(called) && node.arguments.length > 1;
      if (reads || readsFrom || called === 'charCodeAt' || called === 'codePointAt') note();
    },
    MemberExpression(node) {
      // `bytes[at]` where `at` is not an index of the loop's own lists: only a scanner compares it with a
      // character.
      if (
        loops > 0 &&
        node.computed &&
        /^(?:this\.#)?(?:bytes|buffer|text|chunk|data|source|input)$/.test(sourceOf(node.object))
      )
        note();
    },
    AssignmentExpression(node) {
      const { right } = node;
      if (
        node.operator !== '=' ||
        right.type !== 'CallExpression' ||
        right.callee.type !== 'MemberExpression'
      )
        return;
      const target = sourceOf(node.left);
      const isCut = CUTS.has(sourceOf(right.callee.property)) && sourceOf(right.callee.object) === target;
      const isJoined = sourceOf(right.callee) === 'Buffer.concat' && sourceOf(right).includes(target);
      if (isCut || isJoined) note();
    },
  };
  for (const loop of LOOPS) {
    visitor[loop] = () => void (loops += 1);
    visitor[`${loop}:exit`] = () => void (loops -= 1);
  }
  new Visitor(visitor).visit(program);
  return { patterns, scanners: [...scanners].map((name) => ({ file, name })) };
}

let foundAll: FoundText | undefined;

/** Returns all regular expressions and scanners in production code. */
export function findAll(): FoundText {
  foundAll ??= searchAll();
  return foundAll;
}

function searchAll(): FoundText {
  const found = productionFiles().map((file) => findIn(file, readFileSync(join(ROOT, file), 'utf8')));
  return {
    patterns: found.flatMap(({ patterns }) => patterns),
    scanners: found.flatMap(({ scanners }) => scanners),
  };
}
