/** Feature gates: their definitions, defaults and validation.
 *  Source: feature gates, document 3 §4.4. */
import type { FieldError } from '../meta/field-error.ts';
import table from './data/feature-gates.json' with { type: 'json' };
import { didYouMean } from './suggestion.ts';

export interface FeatureGate {
  readonly name: string;
  /** `ALPHA`, `BETA`, or a later stage. */
  readonly stage: string;
  readonly default: boolean;
  /** The gate cannot be changed: setting it to the other value is rejected. */
  readonly locked?: boolean;
}

/** Gates that were set, by name. */
export type GateSettings = Readonly<Record<string, boolean>>;

/** All feature gates. */
export const FEATURE_GATES: readonly FeatureGate[] = table.gates;

const STAGE_GATES: Readonly<Record<string, string>> = { ALPHA: 'AllAlpha', BETA: 'AllBeta' };
const GROUP_NAMES: ReadonlySet<string> = new Set(Object.values(STAGE_GATES));

/** Reports whether a gate is on: as set, else as AllAlpha or AllBeta sets its stage, else its default. */
export function gateEnabled(settings: GateSettings, gate: FeatureGate): boolean {
  if (gate.locked === true) return gate.default;
  const own = settings[gate.name];
  if (own !== undefined) return own;
  if (GROUP_NAMES.has(gate.name)) return gate.default;
  const group = STAGE_GATES[gate.stage];
  return (group === undefined ? undefined : settings[group]) ?? gate.default;
}

const GATE_BY_NAME: ReadonlyMap<string, FeatureGate> = new Map(
  FEATURE_GATES.map((gate) => [gate.name, gate]),
);

/** Reports whether the gate of this name is on; an unknown name is off. */
export function namedGateEnabled(settings: GateSettings, name: string): boolean {
  const gate = GATE_BY_NAME.get(name);
  return gate !== undefined && gateEnabled(settings, gate);
}

/** Returns why a name is not a feature gate. */
export function gateNameError(
  name: string,
  gates: readonly FeatureGate[] = FEATURE_GATES,
): string | undefined {
  const names = gates.map((gate) => gate.name);
  return names.includes(name) ? undefined : `no such feature gate${didYouMean(name, names)}`;
}

/** Returns the validation errors of gates that were set: unknown names, locked gates set to the other value. */
export function checkGates(
  settings: GateSettings,
  gates: readonly FeatureGate[] = FEATURE_GATES,
): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const [name, value] of Object.entries(settings)) {
    const gate = gates.find((candidate) => candidate.name === name);
    const field = `featureGates[${name}]`;
    if (gate === undefined) {
      const detail = gateNameError(name, gates) ?? '';
      errors.push({ kind: 'FieldValueNotFound', field, badValue: name, detail });
    } else if (gate.locked === true && value !== gate.default) {
      const detail = `this gate is locked to ${gate.default}; leave it out`;
      errors.push({ kind: 'FieldValueForbidden', field, badValue: value, detail });
    }
  }
  return errors;
}

/** Returns the names of the gates that are on. */
export const gatesOn = (settings: GateSettings): ReadonlySet<string> =>
  new Set(FEATURE_GATES.filter((gate) => gateEnabled(settings, gate)).map(({ name }) => name));
