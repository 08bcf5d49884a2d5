/** Adapts the rules of a kind, written against the kind's own type, to the server's strategy. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { copyJson } from '#api/codec/copy-json.ts';
import { createBoundedFieldErrors, type FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { ApiObject, Cell, Draft, PartStrategy, Strategy, StrategyContext } from '../contract.ts';
import { typed } from '../view.ts';

/** Type with deeply writable members. */
export type Mutable<T> = T extends readonly (infer Item)[]
  ? Mutable<Item>[]
  : T extends object
    ? { -readonly [Member in keyof T]: Mutable<T[Member]> }
    : T;

export type RowContext = Parameters<NonNullable<Strategy['row']>>[1];

/** Members of Strategy that don't depend on the kind's type. */
type Plain = Pick<
  Strategy,
  'nameErrors' | 'createOnUpdate' | 'unconditionalUpdate' | 'countsGeneration' | 'defaultPropagation'
>;

export interface KindRules<T> extends Plain {
  readonly prepareForCreate?: (draft: Mutable<T>, context: StrategyContext) => void;
  readonly renamed?: (draft: Mutable<T>, oldName: string) => void;
  readonly prepareForUpdate?: (draft: Mutable<T>, old: T, context: StrategyContext) => void;
  readonly validate?: (errors: FieldErrors, object: T, context: StrategyContext) => void;
  /** Asynchronous checks in addition to `validate`. */
  readonly validateInTurns?: (object: T, context: StrategyContext) => Promise<FieldErrors['all']>;
  /** Beside `validate`, of a new object. */
  readonly validateCreate?: (errors: FieldErrors, object: T, context: StrategyContext) => void;
  /** Beside `validate`, of a changed object. */
  readonly validateUpdate?: (errors: FieldErrors, object: T, old: T, context: StrategyContext) => void;
  readonly warnings?: (object: T, old: T | undefined) => readonly string[];
  readonly generationChanged?: (object: T, old: T) => boolean;
  readonly selectableFields?: Readonly<Record<string, (object: T) => string>>;
  readonly row?: (object: T, context: RowContext) => readonly Cell[];
}

export function kindStrategy<T>(rules: KindRules<T>): Strategy {
  const {
    prepareForCreate,
    renamed,
    prepareForUpdate,
    validate,
    validateInTurns,
    validateCreate,
    validateUpdate,
    warnings,
    generationChanged,
    selectableFields,
    row,
    ...plain
  } = rules;
  return {
    ...plain,
    ...(prepareForCreate && {
      prepareForCreate: (draft, context) => prepareForCreate(typed<Mutable<T>>(draft), context),
    }),
    ...(renamed && { renamed: (draft, oldName) => renamed(typed<Mutable<T>>(draft), oldName) }),
    ...(prepareForUpdate && {
      prepareForUpdate: (draft, old, context) =>
        prepareForUpdate(typed<Mutable<T>>(draft), typed<T>(old), context),
    }),
    ...(validate && {
      validate: (object, context) => collect((errors) => validate(errors, typed<T>(object), context)),
    }),
    ...(validateInTurns && {
      validateInTurns: (object, context) => validateInTurns(typed<T>(object), context),
    }),
    ...(validateCreate && {
      validateCreate: (object, context) =>
        collect((errors) => validateCreate(errors, typed<T>(object), context)),
    }),
    ...(validateUpdate && {
      validateUpdate: (object, old, context) =>
        collect((errors) => validateUpdate(errors, typed<T>(object), typed<T>(old), context)),
    }),
    ...(warnings && {
      warnings: (object, old) => warnings(typed<T>(object), old === undefined ? undefined : typed<T>(old)),
    }),
    ...(generationChanged && {
      generationChanged: (object, old) => generationChanged(typed<T>(object), typed<T>(old)),
    }),
    ...(selectableFields && {
      selectableFields: Object.fromEntries(
        Object.entries(selectableFields).map(([name, read]) => [
          name,
          (object: ApiObject) => read(typed<T>(object)),
        ]),
      ),
    }),
    ...(row && { row: (object, context) => row(typed<T>(object), context) }),
  };
}

function collect(validate: (errors: FieldErrors) => void): FieldErrors['all'] {
  const errors = createBoundedFieldErrors();
  validate(errors);
  return errors.all;
}

export interface StatusRules<T> {
  /** Sets fields of the server, after all fields outside the status have been restored. */
  readonly prepare?: (draft: Mutable<T>, old: T, context: StrategyContext) => void;
  readonly validate?: (errors: FieldErrors, object: T, old: T, context: StrategyContext) => void;
  /** Labels stay as they were. Other metadata may always change with the status. */
  readonly keepLabels?: boolean;
}

/** The part in which status and metadata may change, and nothing else. */
export function statusPart<T>(rules: StatusRules<T> = {}): PartStrategy {
  const { prepare, validate, keepLabels = false } = rules;
  return {
    prepareForUpdate: (draft, old, context) => {
      keepOthers(draft, old);
      if (keepLabels) keepLabelsOf(draft.metadata, old);
      prepare?.(typed<Mutable<T>>(draft), typed<T>(old), context);
    },
    ...(validate && {
      validateUpdate: (object, old, context) =>
        collect((errors) => validate(errors, typed<T>(object), typed<T>(old), context)),
    }),
  };
}

const OF_STATUS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'status']);

function keepOthers(draft: ApiObject, old: ApiObject): void {
  for (const member of Object.keys(draft)) if (!OF_STATUS.has(member)) delete draft[member];
  for (const [member, value] of Object.entries(old)) {
    if (!OF_STATUS.has(member)) draft[member] = copyJson(value);
  }
}

function keepLabelsOf(metadata: Draft<ApiObject['metadata']>, { metadata: old }: ApiObject): void {
  if (old.labels === undefined) delete metadata.labels;
  else metadata.labels = old.labels;
}

/** Reports an error if an immutable member has changed. */
export function validateImmutable(
  errors: FieldErrors,
  value: unknown,
  old: unknown,
  path: string,
  detail = 'field is immutable',
): void {
  if (!isDeepStrictEqual(value, old)) errors.invalid(path, value ?? null, detail);
}
