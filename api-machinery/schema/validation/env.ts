/** Validation of environment variables and their sources. No value of a variable appears in an error. */

import type { EnvFromSource, EnvVar, EnvVarSource } from '../../gen/core-v1.ts';
import { configMapKeyFaults, dns1123SubdomainFaults, envVarNameFaults } from '../../meta/names.ts';
import type { Faults } from './faults.ts';
import { ENV_FIELD_PATHS, validateFieldRef, validateResourceFieldRef } from './field-refs.ts';

const SOURCES = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef'] as const;

function validateValueFrom(faults: Faults, source: EnvVarSource, path: string): void {
  const used = SOURCES.filter((name) => source[name] !== undefined);
  if (used.length === 0) faults.required(path, `one of ${SOURCES.join(', ')} is needed`);
  for (const extra of used.slice(1)) faults.forbidden(`${path}.${extra}`, 'there must be exactly one source');
  if (source.fieldRef !== undefined) {
    validateFieldRef(faults, source.fieldRef, ENV_FIELD_PATHS, `${path}.fieldRef`);
  }
  if (source.resourceFieldRef !== undefined) {
    validateResourceFieldRef(faults, source.resourceFieldRef, `${path}.resourceFieldRef`);
  }
  for (const name of ['configMapKeyRef', 'secretKeyRef'] as const) {
    const ref = source[name];
    if (ref === undefined) continue;
    if ((ref.name ?? '') === '') faults.required(`${path}.${name}.name`);
    if (ref.key === '') faults.required(`${path}.${name}.key`);
    else faults.invalidAll(`${path}.${name}.key`, ref.key, configMapKeyFaults(ref.key));
  }
}

/** Returns every validation error of a list of variables; a name may occur twice, the last one wins. */
export function validateEnv(faults: Faults, variables: readonly EnvVar[], path: string): void {
  for (const [index, variable] of variables.entries()) {
    const at = `${path}[${index}]`;
    if (variable.name === '') faults.required(`${at}.name`);
    else faults.invalidAll(`${at}.name`, variable.name, envVarNameFaults(variable.name));
    if ((variable.value ?? '').includes('\0')) {
      faults.add('FieldValueInvalid', `${at}.value`, 'must not contain a NUL character');
    }
    if (variable.valueFrom === undefined) continue;
    if ((variable.value ?? '') !== '') {
      faults.add('FieldValueInvalid', `${at}.valueFrom`, 'must not be set where value is not empty');
    }
    validateValueFrom(faults, variable.valueFrom, `${at}.valueFrom`);
  }
}

/** Returns every validation error of `envFrom`. */
export function validateEnvFrom(faults: Faults, sources: readonly EnvFromSource[], path: string): void {
  for (const [index, source] of sources.entries()) {
    const at = `${path}[${index}]`;
    const { prefix = '', configMapRef, secretRef } = source;
    if (prefix !== '') faults.invalidAll(`${at}.prefix`, prefix, envVarNameFaults(prefix));
    if (configMapRef === undefined && secretRef === undefined) {
      faults.required(at, 'one of configMapRef, secretRef is needed');
    } else if (configMapRef !== undefined && secretRef !== undefined) {
      faults.forbidden(`${at}.secretRef`, 'there must be exactly one source');
    }
    for (const [member, ref] of [
      ['configMapRef', configMapRef],
      ['secretRef', secretRef],
    ] as const) {
      if (ref === undefined) continue;
      if ((ref.name ?? '') === '') faults.required(`${at}.${member}.name`);
      else faults.invalidAll(`${at}.${member}.name`, ref.name, dns1123SubdomainFaults(ref.name ?? ''));
    }
  }
}
