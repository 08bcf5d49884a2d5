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
  path('path', 'Path of the proxied request.'),
  query('pretty', 'string', 'If true, the response is indented.'),
  query('dryRun', 'string', 'All processes the request without persisting the result.'),
  query(
    'fieldManager',
    'string',
    'Name of the manager that is recorded for the changed fields. Defaults to the name of the client in its User-Agent.',
  ),
  query(
    'fieldValidation',
    'string',
    'Handling of unknown and duplicate fields: Ignore, Warn or Strict. Defaults to Warn.',
  ),
  query(
    'force',
    'boolean',
    'If true, applied fields are acquired from other managers in spite of conflicts. Defaults to false.',
  ),
  query(
    'limit',
    'integer',
    'Maximum number of objects in the response. If absent, all objects are returned.',
  ),
  query('continue', 'string', 'Token for the next page, from the metadata of the previous response.'),
  query('labelSelector', 'string', 'Selector of objects by label. Defaults to all objects.'),
  query('fieldSelector', 'string', 'Selector of objects by field. Defaults to all objects.'),
  query(
    'resourceVersion',
    'string',
    'Resource version of the response, as an exact or minimum version, or the version after which a watch begins.',
  ),
  query('resourceVersionMatch', 'string', 'Interpretation of resourceVersion: NotOlderThan or Exact.'),
  query('timeoutSeconds', 'integer', 'Timeout of a list or watch in seconds.'),
  query('watch', 'boolean', 'If true, the response is a stream of changes.'),
  query('allowWatchBookmarks', 'boolean', 'If true, a watch may send bookmarks.'),
  query('sendInitialEvents', 'boolean', 'If true, a watch begins with the existing objects.'),
  query('gracePeriodSeconds', 'integer', 'Seconds before the object is removed; 0 removes it immediately.'),
  query('orphanDependents', 'boolean', 'Deprecated, use propagationPolicy.'),
  query('propagationPolicy', 'string', 'Handling of dependents: Orphan, Background or Foreground.'),
  query('follow', 'boolean', 'If true, the log is streamed as it grows.'),
  query('previous', 'boolean', 'If true, the log of the previously terminated container is returned.'),
  query('container', 'string', 'Name of the container. Defaults to the only container of the pod.'),
  query('sinceSeconds', 'integer', 'Age in seconds of the oldest log line to return.'),
  query('tailLines', 'integer', 'Number of lines from the end of the log.'),
  query('limitBytes', 'integer', 'Maximum number of bytes to return.'),
  query('timestamps', 'boolean', 'If true, every line begins with its timestamp.'),
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
