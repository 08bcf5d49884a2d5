/** Returns the vocabulary that a configuration selects. */

import type { Vocabulary } from '#api/vocabulary.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ServerConfig } from './settings.ts';
export const vocabularyOf = ({ vocabulary }: ServerConfig): Vocabulary =>
  VOCABULARIES[vocabulary === 'kubernetes' ? 'kubernetes' : 'plat'];
