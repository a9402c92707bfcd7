import Testing

/// Runs the tests in place of the entry point that SwiftPM writes.
///
/// All tests are of Swift Testing. For its own entry point SwiftPM would look for tests of XCTest in the index, which would have to be
/// written in each build.
@main
enum TestRun {
  static func main() async {
    let arguments = CommandLine.arguments
    // SwiftPM starts the program once for each library of tests.
    if let option = arguments.firstIndex(of: "--testing-library"), arguments[option...].dropFirst().first == "xctest" { return }
    await Testing.__swiftPMEntryPoint() as Never
  }
}
