/// FNV-1a, 64 bits: enough to see that a generated file is the one that was meant.
package struct Checksum {
  package private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  package init(_ bytes: [UInt8] = []) { add(bytes) }

  package mutating func add(_ bytes: [UInt8]) {
    for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
  }
}
