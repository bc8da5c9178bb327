"""Disk images for tests."""
import os
import struct


def fixed_vhd(path, mebibytes, content=b''):
    """Writes a fixed VHD of this size: the disk, which begins with the content, and a footer of 512 bytes."""
    size = mebibytes << 20
    footer = bytearray(512)
    footer[:8] = b'conectix'
    struct.pack_into('>IIQ', footer, 8, 2, 0x00010000, 0xFFFFFFFFFFFFFFFF)
    struct.pack_into('>QQ', footer, 40, size, size)
    struct.pack_into('>I', footer, 60, 2)  # fixed
    struct.pack_into('>I', footer, 64, ~sum(footer) & 0xFFFFFFFF)
    with path.open('wb') as file:
        file.write(content)
        os.truncate(file.fileno(), size) if len(content) <= size else None
        file.seek(size)
        file.write(footer)
    return path
