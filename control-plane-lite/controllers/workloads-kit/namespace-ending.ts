import { StatusError } from '#api/meta/status-error.ts';

/** Reports whether creation was rejected because the namespace is terminating. */
export const isNamespaceEnding = (error: unknown): boolean =>
  error instanceof StatusError && error.causes.some(({ reason }) => reason === 'NamespaceTerminating');
