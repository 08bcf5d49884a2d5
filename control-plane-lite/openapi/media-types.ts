/** Types of bodies and meanings of answers, as the documents name them. Pure. */
import type { Vocabulary } from '#api/vocabulary.ts';

/** What clients may ask for. */
export const answerTypes = ({ protobufContentType }: Vocabulary): readonly string[] => [
  'application/json',
  'application/yaml',
  protobufContentType,
];

export const patchTypes = (): readonly string[] => [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];

const RESPONSES: Readonly<Record<number, string>> = { 201: 'Created', 202: 'Accepted' };

export const responseDescription = (code: number): string => RESPONSES[code] ?? 'OK';
