import Glibc

// What libFuzzer calls, for whichever `Target` is compiled with this file.

/// Writes the target's seeds into the directory that FUZZ_SEEDS names, before libFuzzer reads its corpus.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
  _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
) -> CInt {
  guard let directory = getenv("FUZZ_SEEDS") else { return 0 }
  for (index, seed) in Target.seeds.enumerated() {
    guard let file = fopen("\(String(cString: directory))/seed-\(index)", "w") else { continue }
    fwrite(seed, 1, seed.count, file)
    fclose(file)
  }
  return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  // A copy, so that the address sanitizer sees a read past the end of just these bytes.
  let input = [UInt8](UnsafeBufferPointer(start: bytes, count: count))
  Target.run(input)
  return 0
}
