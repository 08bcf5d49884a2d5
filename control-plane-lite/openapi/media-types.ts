/** Media types and response descriptions in the documents. Pure. */
import type { Vocabulary } from '#api/vocabulary.ts';

/** Media types that clients can request. */
export const responseTypes = (
  { protobufContentType }: Vocabulary,
  { custom }: { readonly custom: boolean },
): readonly string[] => ['application/json', 'application/yaml', ...(custom ? [] : [protobufContentType])];

/** Clients choose the form of their patches by this. */
export const patchTypes = ({ custom }: { readonly custom: boolean }): readonly string[] => [
  'application/json-patch+json',
  'application/merge-patch+json',
  ...(custom ? [] : ['application/strategic-merge-patch+json']),
  'application/apply-patch+yaml',
];

const RESPONSES: Readonly<Record<number, string>> = { 201: 'Created', 202: 'Accepted' };

export const responseDescription = (code: number): string => RESPONSES[code] ?? 'OK';
