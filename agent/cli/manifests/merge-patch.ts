/** Patches of `nodeagent patch`: JSON merge patch (RFC 7386) and JSON patch (RFC 6902). Pure. */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '#api/kit/object.ts';
import { CommandError } from '../errors.ts';

/** Returns the value with the patch applied; a null member removes. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, mergePatch(result.get(key), value));
  }
  return Object.fromEntries(result);
}

/** Returns the value with every operation applied. @throws CommandError naming the operation */
export function jsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw new CommandError('a JSON patch is a list of operations');
  return patch.reduce<unknown>((value, operation: unknown, index) => {
    try {
      return applyOperation(value, operation);
    } catch (cause) {
      throw new CommandError(`operation ${index} of the patch`, { cause });
    }
  }, target);
}

function applyOperation(value: unknown, operation: unknown): unknown {
  const {
    op,
    path,
    value: operand,
    from,
  }: Readonly<Record<string, unknown>> = isObject(operation) ? operation : {};
  if (typeof path !== 'string') throw new CommandError('path must be a JSON pointer');
  const steps = parsePointer(path);
  switch (op) {
    case 'add':
      return edited(value, steps, () => operand, 'add');
    case 'replace':
      read(value, steps);
      return edited(value, steps, () => operand, 'replace');
    case 'remove':
      read(value, steps);
      return edited(value, steps, () => undefined, 'remove');
    case 'test':
      if (isDeepStrictEqual(read(value, steps), operand)) return value;
      throw new CommandError(`${path} has another value`);
    case 'move':
    case 'copy': {
      if (typeof from !== 'string') throw new CommandError('from must be a JSON pointer');
      const source = parsePointer(from);
      const moved = read(value, source);
      const rest = op === 'move' ? edited(value, source, () => undefined, 'remove') : value;
      return edited(rest, steps, () => moved, 'add');
    }
    default:
      throw new CommandError(`op ${JSON.stringify(op)} must be add, remove, replace, move, copy or test`);
  }
}

function parsePointer(text: string): readonly string[] {
  if (text === '') return [];
  if (!text.startsWith('/')) throw new CommandError(`${JSON.stringify(text)} is not a JSON pointer`);
  return text
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function indexOf(list: readonly unknown[], step: string, mayAppend: boolean): number {
  if (step === '-' && mayAppend) return list.length;
  const index = /^(?:0|[1-9]\d{0,8})$/.test(step) ? Number(step) : -1;
  if (index < 0 || index > list.length - (mayAppend ? 0 : 1)) throw new CommandError(`no item ${step}`);
  return index;
}

function read(value: unknown, steps: readonly string[]): unknown {
  return steps.reduce((at, step) => {
    if (Array.isArray(at)) return at[indexOf(at, step, false)];
    if (isObject(at) && Object.hasOwn(at, step)) return at[step];
    throw new CommandError(`no member ${JSON.stringify(step)}`);
  }, value);
}

type Kind = 'add' | 'replace' | 'remove';

function edited(value: unknown, steps: readonly string[], make: () => unknown, kind: Kind): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return make();
  if (Array.isArray(value)) return editedList(value, step, rest, make, kind);
  if (!isObject(value)) throw new CommandError(`no member ${JSON.stringify(step)}`);
  const members = new Map(Object.entries(value));
  if (rest.length === 0 && kind === 'remove') members.delete(step);
  else members.set(step, edited(members.get(step), rest, make, kind));
  return Object.fromEntries(members);
}

function editedList(
  list: readonly unknown[],
  step: string,
  rest: readonly string[],
  make: () => unknown,
  kind: Kind,
): unknown {
  const index = indexOf(list, step, rest.length === 0 && kind === 'add');
  if (rest.length > 0) return list.with(index, edited(list[index], rest, make, kind));
  if (kind === 'add') return list.toSpliced(index, 0, make());
  return kind === 'remove' ? list.toSpliced(index, 1) : list.with(index, make());
}
