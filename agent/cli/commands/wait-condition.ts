/** Conditions of `nodeagent wait --for`. Pure. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { JsonPath } from '#api/meta/json-path.ts';
import { JsonPathError } from '#api/meta/json-path-parser.ts';
import { UsageError } from '../errors.ts';
import { parseRelaxedPath, valueText } from '../output/jsonpath-template.ts';

export type WaitCondition = { readonly met: string } & (
  | { readonly kind: 'delete' | 'create' }
  | { readonly kind: 'fields'; readonly test: (pod: Pod) => boolean }
);

/** Parses `delete`, `create`, `condition=Ready=false` or `jsonpath='{.status.phase}'=Running`. @throws UsageError */
export function parseWaitCondition(text: string | undefined): WaitCondition {
  if (text === undefined) throw new UsageError('wait requires --for=CONDITION');
  if (text === 'delete') return { kind: 'delete', met: 'deleted' };
  if (text === 'create') return { kind: 'create', met: 'created' };
  if (text.startsWith('condition=')) return podCondition(text.slice('condition='.length));
  if (text.startsWith('jsonpath=')) return pathCondition(text.slice('jsonpath='.length));
  throw new UsageError(
    `--for: invalid value ${JSON.stringify(text)}: must be delete, create, condition=NAME[=VALUE] or jsonpath=PATH[=VALUE]`,
  );
}

function podCondition(text: string): WaitCondition {
  const [type = '', value = 'true', ...more] = text.split('=');
  if (type === '' || more.length > 0) throw new UsageError('--for=condition requires NAME or NAME=VALUE');
  const [wantedType, wantedStatus] = [type.toLowerCase(), value.toLowerCase()];
  return {
    kind: 'fields',
    met: 'condition met',
    test: ({ status }) =>
      status?.conditions?.some(
        (condition) =>
          condition.type.toLowerCase() === wantedType && condition.status.toLowerCase() === wantedStatus,
      ) === true,
  };
}

function pathCondition(text: string): WaitCondition {
  const close = text.startsWith('{') ? text.lastIndexOf('}') + 1 : text.indexOf('=');
  const end = close <= 0 ? text.length : close;
  const rest = text.slice(end);
  if (rest !== '' && !rest.startsWith('=')) {
    throw new UsageError(`--for=jsonpath: unexpected ${JSON.stringify(rest)} after the path`);
  }
  const value = rest === '' ? undefined : rest.slice(1);
  const path = parsePath(text.slice(0, end));
  return {
    kind: 'fields',
    met: 'condition met',
    test: (pod) => {
      const found = Array.from(path.find(pod), valueText);
      return value === undefined ? found.length > 0 : found.length === 1 && found[0] === value;
    },
  };
}

function parsePath(text: string): JsonPath {
  try {
    return parseRelaxedPath(text);
  } catch (cause) {
    if (cause instanceof JsonPathError) throw new UsageError(`--for=jsonpath: ${cause.message}`, { cause });
    throw cause;
  }
}

/** @param pod undefined once it has been deleted */
export function meets(condition: WaitCondition, pod: Pod | undefined): boolean {
  if (condition.kind === 'delete') return pod === undefined;
  if (pod === undefined) return false;
  return condition.kind === 'fields' ? condition.test(pod) : true;
}
