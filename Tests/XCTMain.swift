import Dispatch
import Testing

/// Runs the tests in place of the entry point that SwiftPM writes.
///
/// All tests are of Swift Testing. For its own entry point SwiftPM would look for tests of XCTest in the index, which would have to be
/// written in each build. It is not `async`: of an optimised program, the compiler names a part of an asynchronous `main` as that of
/// any other, and the linker would take the one of `bigpeer`, which is in this program too.
@main
enum TestRun {
  static func main() {
    let arguments = CommandLine.arguments
    // SwiftPM asks for the tests of XCTest first, and starts the program once for each library of tests.
    if arguments.contains("--dump-tests-json") { return print(#"{"name":"All tests","tests":[]}"#) }
    if let option = arguments.firstIndex(of: "--testing-library"),
      arguments[option...].dropFirst().first == "xctest"
    {
      return
    }
    Task { await Testing.__swiftPMEntryPoint() as Never }
    dispatchMain()
  }
}
