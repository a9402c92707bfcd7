import Testing

@testable import DocStore

/// What is known of file systems by their names and numbers.
@Suite struct FileSystemKindTests {
  @Test func `file systems that draw numbers or keep no permissions are known`() {
    // Linux: NFS, exFAT, FUSE, 9P; then ext4, XFS, Btrfs, tmpfs and overlay.
    let numbers: [UInt32] = [0x6969, 0x2011_BAB0, 0x6573_5546, 0x0102_1997]
    let kinds = numbers.map { FileSystemKind(number: $0) }
    #expect(kinds.map(\.keepsNumbers) == [false, false, false, false])
    #expect(kinds.map(\.keepsPermissions) == [true, false, false, false])
    let others = ([0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630] as [UInt32]).map {
      FileSystemKind(number: $0)
    }
    #expect(others.allSatisfy { $0.keepsNumbers && $0.keepsPermissions })
    #expect(!FileSystemKind(named: "exfat").keepsNumbers && !FileSystemKind(named: "exfat").keepsPermissions)
    #expect(FileSystemKind(named: "apfs").keepsNumbers && FileSystemKind(named: "apfs").keepsPermissions)
  }
}
