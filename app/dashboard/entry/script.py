"""`streamlit run` executes this file for every browser and every move.

Worker processes execute it too, under another name: hence the guard, and the import behind it.
"""

if __name__ == "__main__":
    from app.dashboard.main import main

    main()
