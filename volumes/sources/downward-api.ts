/** downwardAPI: fields of the pod as files. Source: volume sources, document 3 §2.3. */

import { defineSource, type SourcePlugin } from '../contract/source.ts';
import { DEFAULT_MODE } from '../files/payload.ts';
import { downwardContent, setUpContent } from './content.ts';

export const downwardAPI: SourcePlugin = defineSource(
  'downwardAPI',
  { summary: 'Fields of the pod as files.', use: 'pod' },
  async (spec, request) => {
    const content = downwardContent(request, spec.items ?? [], spec.defaultMode ?? DEFAULT_MODE);
    return setUpContent(request, { dirName: 'downward-api', memory: true }, content);
  },
);
