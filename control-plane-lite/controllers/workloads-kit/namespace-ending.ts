import { StatusError } from '#api/meta/status-error.ts';

/** Whether nothing can be made because the namespace is on its way out. */
export const isNamespaceEnding = (error: unknown): boolean =>
  error instanceof StatusError && error.causes.some(({ reason }) => reason === 'NamespaceTerminating');
