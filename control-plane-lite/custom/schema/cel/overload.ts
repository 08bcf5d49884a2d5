/** Overloads of functions and operators: parameter kinds, result, work, implementation. */
import type { Charge } from './equality.ts';
import { type CelType, type SimpleKind, simple } from './types.ts';
import {
  CelDuration,
  CelError,
  CelList,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  isMap,
} from './values.ts';

export type ValueKind = Exclude<SimpleKind, 'dyn'> | 'list' | 'map';
export type Param = ValueKind | 'any';

export interface Overload {
  readonly name: string;
  /** Called on its first argument. */
  readonly member: boolean;
  readonly params: readonly Param[];
  readonly result: (args: readonly CelType[]) => CelType;
  /** Work for arguments of these sizes, beyond that of the call. */
  readonly cost?: (sizes: readonly number[]) => number;
  /** Arguments have the kinds of the parameters. */
  readonly call: (args: readonly CelValue[], charge: Charge) => CelValue;
}

export const NO_OVERLOAD: CelError = new CelError('no such overload');

export function kindOfValue(value: CelValue): ValueKind | 'error' {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'double';
  if (typeof value === 'boolean') return 'bool';
  if (value === null) return 'null';
  if (value instanceof CelList) return 'list';
  if (isMap(value)) return 'map';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof CelUint) return 'uint';
  if (value instanceof CelDuration) return 'duration';
  if (value instanceof CelTimestamp) return 'timestamp';
  return value instanceof CelTypeValue ? 'type' : 'error';
}

export const returns =
  (kind: SimpleKind): Overload['result'] =>
  () =>
    simple(kind);

/** Defines an operator or function that is not called on a value. */
export const define = (
  name: string,
  params: readonly Param[],
  result: SimpleKind | Overload['result'],
  call: (...args: readonly never[]) => CelValue,
  cost?: Overload['cost'],
): Overload => overload(name, false, params, result, call, cost);

/** Defines a function that is called on its first argument. */
export const method = (
  name: string,
  params: readonly Param[],
  result: SimpleKind | Overload['result'],
  call: (...args: readonly never[]) => CelValue,
  cost?: Overload['cost'],
): Overload => overload(name, true, params, result, call, cost);

function overload(
  name: string,
  member: boolean,
  params: readonly Param[],
  result: SimpleKind | Overload['result'],
  call: (...args: readonly never[]) => CelValue,
  cost: Overload['cost'],
): Overload {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- called with values of the kinds in `params` only
  const run = call as unknown as (...args: readonly (CelValue | Charge)[]) => CelValue;
  return {
    name,
    member,
    params,
    result: typeof result === 'string' ? returns(result) : result,
    ...(cost === undefined ? {} : { cost }),
    call: (args, charge) => run(...args, charge),
  };
}

/** Reports whether an argument of this type may have the kind. */
export const accepts = (param: Param, { kind }: CelType): boolean =>
  param === 'any' || kind === 'dyn' || kind === param || (kind === 'object' && param === 'map');
