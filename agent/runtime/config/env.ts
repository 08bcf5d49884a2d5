/** Environment of a container, from its spec and fetched objects. Pure.
 *  Later entries win: envFrom in order, then env in order, each of which may use `$(VAR)` of earlier ones.
 *  Messages name objects and keys, never values. Source: configuration in environment variables, document 3
 *  §2.1 and §2.2; upstream's rules for env. */

import type {
  ConfigMap,
  Container,
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  EphemeralContainer,
  Pod,
  Secret,
} from '#api/gen/core-v1.ts';
import { envVarNameErrors } from '#api/meta/names.ts';
import { extractField, extractResource, FieldRefError } from '#api/schema/field-ref.ts';
import { expandVariables } from './expand.ts';
import type { ConfigWarning } from './hostname.ts';

export interface EnvInput {
  /** The pod with its current status (pod and host addresses) and `spec.nodeName`. */
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  /** By name, in the namespace of the pod; absent ones do not exist. */
  readonly configMaps: ReadonlyMap<string, ConfigMap>;
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Allocatable amounts by resource name in base units, in place of unset limits. */
  readonly allocatable: Readonly<Record<string, number>>;
  /** Service variables, overridden by everything in the container spec. */
  readonly serviceEnv?: Readonly<Record<string, string>>;
}

export type EnvResult =
  | {
      readonly kind: 'ok';
      readonly env: ReadonlyMap<string, string>;
      readonly warnings: readonly ConfigWarning[];
    }
  | { readonly kind: 'error'; readonly reason: 'CreateContainerConfigError'; readonly message: string };

/** A value that cannot be resolved; carries the message of the container status. */
class EnvError extends Error {
  override readonly name = 'EnvError';
  readonly reason = 'CreateContainerConfigError';
}

/** Returns all variables, or the reason why the container cannot be created yet. */
export function resolveEnv(input: EnvInput): EnvResult {
  const env = new Map<string, string>();
  const warnings: ConfigWarning[] = [];
  try {
    for (const source of input.container.envFrom ?? []) addSource(input, source, env, warnings);
    for (const variable of input.container.env ?? []) addVariable(input, variable, env);
  } catch (error) {
    if (!(error instanceof EnvError)) throw error;
    return { kind: 'error', reason: error.reason, message: error.message };
  }
  for (const [name, value] of Object.entries(input.serviceEnv ?? {})) {
    if (!env.has(name)) env.set(name, value);
  }
  return { kind: 'ok', env, warnings };
}

function addVariable(input: EnvInput, variable: EnvVar, env: Map<string, string>): void {
  const { name, value: literal = '', valueFrom } = variable;
  const lookup = (wanted: string): string | undefined =>
    env.get(wanted) ?? ownEntry(input.serviceEnv ?? {}, wanted);
  const value =
    valueFrom === undefined ? expandVariables(literal, lookup) : readSource(input, variable, valueFrom);
  if (value === undefined) return;
  env.set(name, checkValue(value, `environment variable ${name}`));
}

/** Returns the value; `undefined` leaves the variable unset. */
function readSource(input: EnvInput, { name }: EnvVar, source: EnvVarSource): string | undefined {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = source;
  if (configMapKeyRef !== undefined) return readKey(input, 'ConfigMap', configMapKeyRef);
  if (secretKeyRef !== undefined) return readKey(input, 'Secret', secretKeyRef);
  try {
    if (fieldRef !== undefined) return extractField(input.pod, fieldRef.fieldPath);
    if (resourceFieldRef !== undefined) return readResource(input, resourceFieldRef);
  } catch (error) {
    if (error instanceof FieldRefError) throw new EnvError(`environment variable ${name}: ${error.message}`);
    throw error;
  }
  return '';
}

function readResource(
  { pod, container, allocatable }: EnvInput,
  { containerName = '', resource, divisor }: NonNullable<EnvVarSource['resourceFieldRef']>,
): string {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const named = containerName === '' ? container : containers.find(({ name }) => name === containerName);
  if (named === undefined) throw new FieldRefError(`pod has no container ${JSON.stringify(containerName)}`);
  return extractResource(named, resource, divisor, allocatable);
}

type ObjectKind = 'ConfigMap' | 'Secret';

interface KeySelector {
  readonly name?: string;
  readonly key: string;
  readonly optional?: boolean;
}

function readKey(input: EnvInput, kind: ObjectKind, selector: KeySelector): string | undefined {
  const { name = '', key, optional = false } = selector;
  const what = `${kind} ${input.pod.metadata?.namespace ?? ''}/${name}`;
  const data = objectData(input, kind, name);
  if (data === undefined) {
    if (optional) return undefined;
    throw new EnvError(`${what} was not found`);
  }
  const text = ownEntry(data, key);
  if (text === undefined) {
    if (optional) return undefined;
    throw new EnvError(`${what} has no key ${JSON.stringify(key)}`);
  }
  return kind === 'Secret' ? decodeSecret(text, `${what} key ${JSON.stringify(key)}`) : text;
}

function objectData(
  input: EnvInput,
  kind: ObjectKind,
  name: string,
): Readonly<Record<string, string>> | undefined {
  const object = kind === 'ConfigMap' ? input.configMaps.get(name) : input.secrets.get(name);
  return object === undefined ? undefined : (object.data ?? {});
}

function addSource(
  input: EnvInput,
  { prefix = '', configMapRef, secretRef }: EnvFromSource,
  env: Map<string, string>,
  warnings: ConfigWarning[],
): void {
  const kind: ObjectKind = configMapRef === undefined ? 'Secret' : 'ConfigMap';
  const reference = configMapRef ?? secretRef;
  if (reference === undefined) return;
  const { name = '', optional = false } = reference;
  const what = `${kind} ${input.pod.metadata?.namespace ?? ''}/${name}`;
  const data = objectData(input, kind, name);
  if (data === undefined) {
    if (optional) return;
    throw new EnvError(`${what} was not found`);
  }
  const invalid: string[] = [];
  for (const [key, text] of Object.entries(data)) {
    const variable = `${prefix}${key}`;
    const source = `${what} key ${JSON.stringify(key)}`;
    if (envVarNameErrors(variable).length > 0) invalid.push(key);
    else env.set(variable, checkValue(kind === 'Secret' ? decodeSecret(text, source) : text, source));
  }
  if (invalid.length === 0) return;
  const message = `keys [${invalid.sort().join(', ')}] of ${what} are not valid environment variable names and were skipped`;
  warnings.push({ reason: 'InvalidEnvironmentVariableNames', message });
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** CRI transports text only, so bytes that are not UTF-8 cannot be a value. */
function decodeSecret(base64: string, what: string): string {
  try {
    return decoder.decode(Buffer.from(base64, 'base64'));
  } catch (error) {
    if (error instanceof TypeError) throw new EnvError(`${what} is not UTF-8 text`);
    throw error;
  }
}

function checkValue(value: string, what: string): string {
  if (value.includes('\0')) throw new EnvError(`${what} contains a NUL character`);
  return value;
}

const ownEntry = (record: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

interface EnvReferences {
  /** Unique names in the namespace of the pod. */
  readonly configMaps: readonly string[];
  readonly secrets: readonly string[];
}

/** Returns the objects to fetch before `resolveEnv`. */
export function envReferences(
  container: Pick<Container | EphemeralContainer, 'env' | 'envFrom'>,
): EnvReferences {
  const configMaps = new Set<string>();
  const secrets = new Set<string>();
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    if (configMapRef?.name !== undefined) configMaps.add(configMapRef.name);
    if (secretRef?.name !== undefined) secrets.add(secretRef.name);
  }
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.configMapKeyRef?.name !== undefined) configMaps.add(valueFrom.configMapKeyRef.name);
    if (valueFrom?.secretKeyRef?.name !== undefined) secrets.add(valueFrom.secretKeyRef.name);
  }
  return { configMaps: [...configMaps], secrets: [...secrets] };
}
