/** Validation of environment variables and their sources. No value of a variable appears in an error. */

import type { EnvFromSource, EnvVar, EnvVarSource } from '../../gen/core-v1.ts';
import { configMapKeyErrors, dns1123SubdomainErrors, envVarNameErrors } from '../../meta/names.ts';
import type { FieldErrors } from './field-errors.ts';
import { ENV_FIELD_PATHS, validateFieldRef, validateResourceFieldRef } from './field-refs.ts';

const SOURCES = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef'] as const;

function validateValueFrom(errors: FieldErrors, source: EnvVarSource, path: string): void {
  const used = SOURCES.filter((name) => source[name] !== undefined);
  if (used.length === 0) errors.required(path, `one of ${SOURCES.join(', ')} is needed`);
  for (const extra of used.slice(1)) errors.forbidden(`${path}.${extra}`, 'there must be exactly one source');
  if (source.fieldRef !== undefined) {
    validateFieldRef(errors, source.fieldRef, ENV_FIELD_PATHS, `${path}.fieldRef`);
  }
  if (source.resourceFieldRef !== undefined) {
    validateResourceFieldRef(errors, source.resourceFieldRef, `${path}.resourceFieldRef`);
  }
  for (const name of ['configMapKeyRef', 'secretKeyRef'] as const) {
    const ref = source[name];
    if (ref === undefined) continue;
    if ((ref.name ?? '') === '') errors.required(`${path}.${name}.name`);
    if (ref.key === '') errors.required(`${path}.${name}.key`);
    else errors.invalidAll(`${path}.${name}.key`, ref.key, configMapKeyErrors(ref.key));
  }
}

/** Returns every validation error of a list of variables; a name may occur twice, the last one wins. */
export function validateEnv(errors: FieldErrors, variables: readonly EnvVar[], path: string): void {
  for (const [index, variable] of variables.entries()) {
    const at = `${path}[${index}]`;
    if (variable.name === '') errors.required(`${at}.name`);
    else errors.invalidAll(`${at}.name`, variable.name, envVarNameErrors(variable.name));
    if ((variable.value ?? '').includes('\0')) {
      errors.add('FieldValueInvalid', `${at}.value`, 'must not contain a NUL character');
    }
    if (variable.valueFrom === undefined) continue;
    if ((variable.value ?? '') !== '') {
      errors.add('FieldValueInvalid', `${at}.valueFrom`, 'must not be set where value is not empty');
    }
    validateValueFrom(errors, variable.valueFrom, `${at}.valueFrom`);
  }
}

/** Returns every validation error of `envFrom`. */
export function validateEnvFrom(errors: FieldErrors, sources: readonly EnvFromSource[], path: string): void {
  for (const [index, source] of sources.entries()) {
    const at = `${path}[${index}]`;
    const { prefix = '', configMapRef, secretRef } = source;
    if (prefix !== '') errors.invalidAll(`${at}.prefix`, prefix, envVarNameErrors(prefix));
    if (configMapRef === undefined && secretRef === undefined) {
      errors.required(at, 'one of configMapRef, secretRef is needed');
    } else if (configMapRef !== undefined && secretRef !== undefined) {
      errors.forbidden(`${at}.secretRef`, 'there must be exactly one source');
    }
    for (const [member, ref] of [
      ['configMapRef', configMapRef],
      ['secretRef', secretRef],
    ] as const) {
      if (ref === undefined) continue;
      if ((ref.name ?? '') === '') errors.required(`${at}.${member}.name`);
      else errors.invalidAll(`${at}.${member}.name`, ref.name, dns1123SubdomainErrors(ref.name ?? ''));
    }
  }
}
