/** secret: the keys of a Secret as files that are never on a disk. Spec: document 3, 2.2 and 2.3. */
import { DEFAULT_MODE } from '../payload.ts';
import { secretContent, setUpContent } from './content.ts';
import { defineSource, type SourcePlugin } from './source.ts';

export const secret: SourcePlugin = defineSource(
  'secret',
  { summary: 'The keys of a Secret as files in memory.', use: 'pod' },
  async (spec, request) => {
    const content = await secretContent(request, spec, spec.defaultMode ?? DEFAULT_MODE);
    return setUpContent(request, { dirName: 'secret', memory: true }, content);
  },
);
