import { mkdir, writeFile } from 'node:fs/promises';

/** The pictures of the documents, by what they are here. */
const inDocuments: Readonly<Record<string, string>> = Object.fromEntries(
  ['light', 'dark'].flatMap((theme) => [
    [`decisions-plan-${theme}-800`, `decisions-plan-${theme}`],
    [`decisions-list-${theme}-800`, `decisions-list-${theme}`],
  ]),
);

/** Writes a picture to the folder that GALLERY names; one of the documents also to the one that PICTURES names, under its name there. */
export async function keepPicture(name: string, picture: Buffer): Promise<void> {
  const { GALLERY, PICTURES } = process.env;
  const document = inDocuments[name];
  if (GALLERY !== undefined) await write(GALLERY, name, picture);
  if (PICTURES !== undefined && document !== undefined) await write(PICTURES, document, picture);
}

async function write(folder: string, name: string, picture: Buffer): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}/${name}.png`, picture);
}
