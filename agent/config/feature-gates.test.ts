import { describe, expect, test } from 'vitest';
import {
  checkGates,
  FEATURE_GATES,
  type FeatureGate,
  gateEnabled,
  namedGateEnabled,
} from '#api/schema/feature-gates.ts';
import { createDefaultConfig } from './default-config.ts';
import { featureEnabled } from './feature-gates.ts';

const alpha: FeatureGate = { name: 'NewThing', stage: 'ALPHA', default: false };
const beta: FeatureGate = { name: 'OldThing', stage: 'BETA', default: true };
const quietBeta: FeatureGate = { name: 'QuietThing', stage: 'BETA', default: false };
const stable: FeatureGate = { name: 'Settled', stage: 'GA', default: true, locked: true };

describe('gateEnabled', () => {
  test.each<[string, Record<string, boolean>, FeatureGate, boolean]>([
    ['retains the default of an alpha gate', {}, alpha, false],
    ['retains the default of a beta gate', {}, beta, true],
    ['takes what was set', { OldThing: false }, beta, false],
    ['lets AllAlpha switch alpha gates on', { AllAlpha: true }, alpha, true],
    ['lets a gate win over AllAlpha', { AllAlpha: true, NewThing: false }, alpha, false],
    ['leaves beta gates alone with AllAlpha', { AllAlpha: true }, quietBeta, false],
    ['lets AllBeta switch beta gates on', { AllBeta: true }, quietBeta, true],
    ['lets AllBeta switch beta gates off', { AllBeta: false }, beta, false],
    ['lets a gate win over AllBeta', { AllBeta: false, OldThing: true }, beta, true],
    ['leaves alpha gates alone with AllBeta', { AllBeta: true }, alpha, false],
    ['retains a locked gate at its value', { Settled: false, AllBeta: false }, stable, true],
  ])('%s', (_name, settings, gate, enabled) => {
    expect(gateEnabled(settings, gate)).toBe(enabled);
  });

  test('does not let AllBeta switch AllBeta-stage groups', () => {
    const group = FEATURE_GATES.find(({ name }) => name === 'AllBeta');
    expect(group === undefined ? undefined : gateEnabled({}, group)).toBe(false);
    expect(namedGateEnabled({ AllAlpha: true }, 'AllAlpha')).toBe(true);
  });
});

describe('featureEnabled', () => {
  test('reads the gates of a configuration', () => {
    const config = createDefaultConfig();
    expect(featureEnabled(config, 'NodeSwap')).toBe(false);
    expect(featureEnabled(config, 'CPUManager')).toBe(true);
    expect(featureEnabled({ featureGates: { AllAlpha: true } }, 'NodeSwap')).toBe(true);
  });

  test('returns the default of every gate', () => {
    for (const gate of FEATURE_GATES) expect(namedGateEnabled({}, gate.name)).toBe(gate.default);
    expect(FEATURE_GATES).toHaveLength(100);
  });

  test('reports an unknown gate as disabled', () => {
    expect(namedGateEnabled({ Nothing: true }, 'Nothing')).toBe(false);
  });
});

describe('checkGates', () => {
  const gates = [alpha, beta, stable];

  test('accepts existing gates', () => {
    expect(checkGates({ NewThing: true, OldThing: false, Settled: true }, gates)).toEqual([]);
  });

  test('rejects unknown gates and suggests', () => {
    expect(checkGates({ NewThin: true }, gates)).toEqual([
      {
        kind: 'FieldValueNotFound',
        field: 'featureGates[NewThin]',
        badValue: 'NewThin',
        detail: 'no such feature gate (did you mean "NewThing"?)',
      },
    ]);
  });

  test('rejects changes of a locked gate', () => {
    expect(checkGates({ Settled: false }, gates)).toEqual([
      {
        kind: 'FieldValueForbidden',
        field: 'featureGates[Settled]',
        badValue: false,
        detail: 'this gate is locked to true; leave it out',
      },
    ]);
  });
});
