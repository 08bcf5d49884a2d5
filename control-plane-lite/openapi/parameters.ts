/** Parameters of requests. Data. Source: query parameters, document 1 §4.2 to §4.9. */

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description: string;
}

const query = (name: string, type: Parameter['type'], description: string): Parameter => ({
  name,
  in: 'query',
  type,
  description,
});
const path = (name: string, description: string): Parameter => ({
  name,
  in: 'path',
  type: 'string',
  description,
});

const ALL: readonly Parameter[] = [
  path('name', 'Name of the object.'),
  path('namespace', 'Namespace of the object.'),
  path('path', 'Path of the request that is passed on.'),
  query('pretty', 'string', 'With true, the answer has line breaks.'),
  query('dryRun', 'string', 'With All, everything is checked and nothing is stored.'),
  query('fieldManager', 'string', 'Name of who makes the change.'),
  query('fieldValidation', 'string', 'Ignore, Warn (default) or Strict: what to do with unknown fields.'),
  query('force', 'boolean', 'Applied fields are taken over from their other managers.'),
  query('limit', 'integer', 'Most objects in one answer.'),
  query('continue', 'string', 'Token of the next page, from the answer before.'),
  query('labelSelector', 'string', 'Labels that the objects must have.'),
  query('fieldSelector', 'string', 'Values of fields that the objects must have.'),
  query('resourceVersion', 'string', 'How new the answer must be.'),
  query('resourceVersionMatch', 'string', 'How resourceVersion is meant: NotOlderThan or Exact.'),
  query('timeoutSeconds', 'integer', 'Seconds after which a list or watch ends.'),
  query('watch', 'boolean', 'Changes are sent as they happen.'),
  query('allowWatchBookmarks', 'boolean', 'A watch may send bookmarks.'),
  query('sendInitialEvents', 'boolean', 'A watch begins with what is there.'),
  query('gracePeriodSeconds', 'integer', 'Seconds until a deleted object is gone.'),
  query('orphanDependents', 'boolean', 'Old form of propagationPolicy.'),
  query('propagationPolicy', 'string', 'Orphan, Background or Foreground: what becomes of dependents.'),
  query('follow', 'boolean', 'The log is sent as it grows.'),
  query('previous', 'boolean', 'The log of the container that ended before.'),
  query('container', 'string', 'Container of the pod. Default: the only one.'),
  query('sinceSeconds', 'integer', 'The log of the last seconds.'),
  query('tailLines', 'integer', 'The last lines of the log.'),
  query('limitBytes', 'integer', 'Bytes after which the log is cut.'),
  query('timestamps', 'boolean', 'Each line begins with its time.'),
];

export const PARAMETERS: ReadonlyMap<string, Parameter> = new Map(ALL.map((known) => [known.name, known]));

export const WRITE_PARAMETERS: readonly string[] = ['dryRun', 'fieldManager', 'fieldValidation'];
export const PATCH_PARAMETERS: readonly string[] = [...WRITE_PARAMETERS, 'force'];
export const DELETE_PARAMETERS: readonly string[] = [
  'dryRun',
  'gracePeriodSeconds',
  'orphanDependents',
  'propagationPolicy',
];
const SELECTION = [
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
];
export const LIST_PARAMETERS: readonly string[] = [
  ...SELECTION,
  'allowWatchBookmarks',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
];
export const COLLECTION_PARAMETERS: readonly string[] = [
  ...SELECTION,
  ...DELETE_PARAMETERS,
  'timeoutSeconds',
];
export const LOG_PARAMETERS: readonly string[] = [
  'container',
  'follow',
  'limitBytes',
  'previous',
  'sinceSeconds',
  'tailLines',
  'timestamps',
];
