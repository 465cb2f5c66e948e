// Object storage that answers every request with one page of twelve parts. Prints its port.
import { createServer } from 'node:http';

const part = (number) =>
  `<Part><PartNumber>${number}</PartNumber><LastModified>2026-11-20T11:31:14.651Z</LastModified><ETag>&quot;${number.toString(16).padStart(32, '0')}&quot;</ETag><Size>8388608</Size></Part>`;
const parts = Array.from({ length: 12 }, (_, index) => part(index + 1)).join('');
const page = `<?xml version="1.0" encoding="UTF-8"?><ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Bucket>b</Bucket><Key>k</Key><UploadId>u</UploadId><IsTruncated>false</IsTruncated>${parts}</ListPartsResult>`;

const store = createServer((_request, response) => {
  response.setHeader('content-type', 'application/xml');
  response.end(page);
});
store.listen(0, '127.0.0.1', () => console.log(store.address().port));
