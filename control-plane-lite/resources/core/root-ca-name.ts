/** Name of the ConfigMap in each namespace that holds the server's CA. */
import type { Vocabulary } from '#api/vocabulary.ts';
export const rootCaName = ({ componentPrefix }: Vocabulary): string => `${componentPrefix}-root-ca.crt`;
