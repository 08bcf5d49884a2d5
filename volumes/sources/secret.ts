/** secret: the keys of a Secret as files that are never on a disk. Source: volume sources, document 3 §2.2
 *  and §2.3. */

import { defineSource, type SourcePlugin } from '../contract/source.ts';
import { DEFAULT_MODE } from '../files/payload.ts';
import { secretContent, setUpContent } from './content.ts';

export const secret: SourcePlugin = defineSource(
  'secret',
  { summary: 'The keys of a Secret as files in memory.', use: 'pod' },
  async (spec, request) => {
    const content = await secretContent(request, spec, spec.defaultMode ?? DEFAULT_MODE);
    return setUpContent(request, { dirName: 'secret', memory: true }, content);
  },
);
