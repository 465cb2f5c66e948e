"""Uploads a file with boto3: upload-client.py FILE BUCKET KEY CONNECTIONS PART_BYTES [resume]"""

import sys
from concurrent.futures import ThreadPoolExecutor

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config

file, bucket, key, connections, part_bytes = sys.argv[1:6]
connections, part_bytes = int(connections), int(part_bytes)
s3 = boto3.client("s3", config=Config(max_pool_connections=connections, s3={"addressing_style": "path"}))


def upload_with_transfer_manager():
    config = TransferConfig(multipart_threshold=part_bytes, multipart_chunksize=part_bytes, max_concurrency=connections)
    s3.upload_file(file, bucket, key, Config=config)


def resume_or_start():
    """Sends the parts that are missing. boto3 itself cannot resume an upload."""
    uploads = s3.list_multipart_uploads(Bucket=bucket, Prefix=key).get("Uploads", [])
    ids = [upload["UploadId"] for upload in uploads if upload["Key"] == key]
    upload_id = ids[0] if ids else s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
    upload = {"Bucket": bucket, "Key": key, "UploadId": upload_id}
    etags = {part["PartNumber"]: part["ETag"] for part in s3.list_parts(**upload).get("Parts", [])}
    with open(file, "rb") as source:
        size = source.seek(0, 2)
    numbers = range(1, -(-size // part_bytes) + 1)

    def send(number):
        with open(file, "rb") as source:
            source.seek((number - 1) * part_bytes)
            body = source.read(part_bytes)
        return number, s3.upload_part(PartNumber=number, Body=body, **upload)["ETag"]

    with ThreadPoolExecutor(connections) as pool:
        etags.update(pool.map(send, [number for number in numbers if number not in etags]))
    parts = [{"PartNumber": number, "ETag": etag} for number, etag in sorted(etags.items())]
    s3.complete_multipart_upload(MultipartUpload={"Parts": parts}, **upload)


if "resume" in sys.argv[6:]:
    resume_or_start()
else:
    upload_with_transfer_manager()
