/** Values of settings by shape, with typed access for the generated code. */

import type { VModuleItem } from '#api/gen/componentconfig-v1alpha1.ts';
import type { Taint } from '#api/gen/core-v1.ts';
import type {
  MemoryReservation,
  ShutdownGracePeriodByPodPriority,
} from '#api/gen/nodeagent-config-v1beta1.ts';
import type { Int64 } from '#api/kit/int64.ts';

interface ShapeValues {
  readonly bool: boolean;
  /** Durations are milliseconds. */
  readonly number: Int64;
  readonly text: string;
  readonly texts: readonly string[];
  readonly map: Readonly<Record<string, string>>;
  readonly gates: Readonly<Record<string, boolean>>;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly modules: readonly VModuleItem[];
  readonly taints: readonly Taint[];
  readonly memory: readonly MemoryReservation[];
  readonly priorities: readonly ShutdownGracePeriodByPodPriority[];
}

export type Shape = keyof ShapeValues;

/** A value that was read, with its shape. */
export type ConfigValue = {
  readonly [S in Shape]: { readonly shape: S; readonly value: ShapeValues[S] };
}[Shape];

/** A setting has a value of another shape than the table declares: a programming error, not invalid input. */
export class ConfigShapeError extends Error {
  override readonly name = 'ConfigShapeError';
  readonly reason = 'ConfigShape';
  readonly key: string;
  constructor(key: string, wanted: string) {
    super(`setting ${key} has no value of shape ${wanted}`);
    this.key = key;
  }
}

/** Returns the value of a setting by its key. Every method throws ConfigShapeError on a wrong shape. */
export interface ConfigReader {
  bool(key: string): boolean;
  /** The nearest to one of 64 bits. */
  number(key: string): number;
  int64(key: string): Int64;
  text(key: string): string;
  texts(key: string): readonly string[];
  map(key: string): Readonly<Record<string, string>>;
  gates(key: string): Readonly<Record<string, boolean>>;
  headers(key: string): Readonly<Record<string, readonly string[]>>;
  modules(key: string): readonly VModuleItem[];
  taints(key: string): readonly Taint[];
  memory(key: string): readonly MemoryReservation[];
  priorities(key: string): readonly ShutdownGracePeriodByPodPriority[];
  oneOf<const T extends string>(key: string, values: readonly T[]): T;
  someOf<const T extends string>(key: string, values: readonly T[]): readonly T[];
}

/** Creates a reader of values by key. */
export function createConfigReader(values: ReadonlyMap<string, ConfigValue>): ConfigReader {
  const take = <S extends Shape>(key: string, shape: S): ShapeValues[S] => {
    const found = values.get(key);
    if (found === undefined || !hasShape(found, shape)) throw new ConfigShapeError(key, shape);
    return found.value;
  };
  const member = <T extends string>(key: string, text: string, allowed: readonly T[]): T => {
    const found = allowed.find((value) => value === text);
    if (found === undefined) throw new ConfigShapeError(key, allowed.join(' | '));
    return found;
  };
  return {
    bool: (key) => take(key, 'bool'),
    number: (key) => Number(take(key, 'number')),
    int64: (key) => take(key, 'number'),
    text: (key) => take(key, 'text'),
    texts: (key) => take(key, 'texts'),
    map: (key) => take(key, 'map'),
    gates: (key) => take(key, 'gates'),
    headers: (key) => take(key, 'headers'),
    modules: (key) => take(key, 'modules'),
    taints: (key) => take(key, 'taints'),
    memory: (key) => take(key, 'memory'),
    priorities: (key) => take(key, 'priorities'),
    oneOf: (key, allowed) => member(key, take(key, 'text'), allowed),
    someOf: (key, allowed) => take(key, 'texts').map((text) => member(key, text, allowed)),
  };
}

function hasShape<S extends Shape>(
  value: ConfigValue,
  shape: S,
): value is ConfigValue & { readonly shape: S; readonly value: ShapeValues[S] } {
  return value.shape === shape;
}
