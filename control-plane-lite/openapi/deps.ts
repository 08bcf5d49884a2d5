/** Dependencies of the OpenAPI documents. */
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { OtherDocuments } from './others.ts';
export interface OpenApiDeps {
  readonly vocabulary: Vocabulary;
  readonly registry: Pick<ResourceRegistry, 'all' | 'generation'>;
  /** Name and version of the program: clients ask again for what another one described. */
  readonly product: string;
  /** What other servers say of themselves. */
  readonly others?: OtherDocuments;
}
